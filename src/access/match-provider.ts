/** Finds the operator's provider for a profile, and checks that the profile may use it. */
import { isObject } from '../util/guards.ts';
import type { AccessProvider, ClusterProfile, Refuse } from './cluster-profile.ts';
import { createGlob } from './glob.ts';
import { nearest } from './nearest.ts';
import type { ConfiguredProvider } from './provider.ts';

export interface Match {
  readonly provider: ConfiguredProvider;
  readonly entry: AccessProvider;
  /** The path of the entry in the profile. */
  readonly path: string;
}

/** KEP-4322: providers are tried in the operator's order; the first that the profile lists wins. */
export function matchProvider(
  profile: ClusterProfile,
  providers: readonly ConfiguredProvider[],
  refuse: Refuse,
): Match {
  if (!isObject(profile)) return refuse('PROFILE_INVALID', '', 'is not an object');
  const { status } = profile;
  if (status === undefined || status === null) {
    return refuse('NO_MATCHING_PROVIDER', 'status', `is missing: ${notPublished('access providers')}`);
  }
  if (!isObject(status)) return refuse('PROFILE_INVALID', 'status', 'must be an object');
  const lists = (['accessProviders', 'credentialProviders'] as const).map((field) => {
    const path = `status.${field}`;
    return { path, entries: readList(status[field], path, refuse) };
  });
  for (const provider of providers) {
    for (const { path, entries } of lists) {
      const index = entries.findIndex(({ name }) => name === provider.name);
      const entry = entries[index];
      if (!entry) continue;
      const second = entries.findIndex(({ name }, i) => i > index && name === provider.name);
      if (second > 0) {
        refuse(
          'PROFILE_INVALID',
          `${path}[${second}].name`,
          `"${provider.name}" duplicates ${path}[${index}]: keep one of the two`,
        );
      }
      return { provider, entry, path: `${path}[${index}]` };
    }
  }
  const names = [...new Set(lists.flatMap(({ entries }) => entries.map(({ name }) => name)))];
  const offered = names.length <= 20 ? names : [...names.slice(0, 20), `${names.length - 20} more`];
  const configured = providers.map(({ name }) => name);
  if (names.length === 0 && configured.length > 0) {
    const what = `lists none of ${configured.join(', ')}, and no other`;
    return refuse('NO_MATCHING_PROVIDER', 'status.accessProviders', `${what}: ${notPublished('access providers')}`);
  }
  return refuse(
    'NO_MATCHING_PROVIDER',
    'status.accessProviders',
    `${nearMatch(names, configured)}offers ${offered.join(', ') || 'nothing'} (configured: ${configured.join(', ') || 'none'}): ` +
      'add a provider for one of the offered types with --clusterprofile-access-provider or in the provider file',
  );
}

/** A cluster manager may write a profile and its conditions before it knows how to reach the cluster. */
export function notPublished(what: string): string {
  return `the cluster manager has not published ${what} yet; see its log if that lasts`;
}

/** Probably a typing mistake, on one side or the other. */
function nearMatch(offered: readonly string[], configured: readonly string[]): string {
  for (const name of offered.slice(0, 20)) {
    const meant = name.length > longestCompared ? undefined : nearest(name, configured.slice(0, 100));
    if (meant !== undefined) return `did the profile mean "${meant}" by "${name}"? It `;
  }
  return '';
}

/** Longer access types are not compared with the configured ones: the time grows with the product of both lengths. */
const longestCompared = 64;

function readList(value: unknown, path: string, refuse: Refuse): readonly AccessProvider[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return refuse('PROFILE_INVALID', path, 'must be a list');
  const entries: readonly unknown[] = value;
  // Spread: map alone leaves holes out.
  return [...entries].map((entry, index) => {
    if (!isEntry(entry)) return refuse('PROFILE_INVALID', `${path}[${index}]`, 'must be an object with a name');
    return entry;
  });
}

function isEntry(value: unknown): value is AccessProvider {
  return isObject(value) && typeof Reflect.get(value, 'name') === 'string';
}

/** Which profiles may use a provider. */
export function checkProfile(
  { metadata, spec }: ClusterProfile,
  { name, allowedProfiles }: ConfiguredProvider,
  refuse: Refuse,
): void {
  const manager: unknown = isObject(spec) ? Reflect.get(spec, 'clusterManager') : undefined;
  const check = (field: 'namespaces' | 'clusterManagers', value: unknown, path: string) => {
    const allowed = allowedProfiles?.[field];
    if (!allowed || (typeof value === 'string' && allowed.some((pattern) => createGlob(pattern)(value)))) return;
    const is = typeof value === 'string' && value !== '' ? `is "${value}"` : 'is missing';
    const which = `allowedProfiles.${field} of provider ${name} (${allowed.join(', ') || 'empty'})`;
    refuse('PROFILE_NOT_ALLOWED', path, `${is}, and must be in ${which}`);
  };
  check('namespaces', isObject(metadata) ? metadata.namespace : undefined, 'metadata.namespace');
  check('clusterManagers', isObject(manager) ? Reflect.get(manager, 'name') : undefined, 'spec.clusterManager.name');
}
