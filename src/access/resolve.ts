/**
 * Resolves a ClusterProfile with the operator's providers into a ResolvedAccess: everything needed to connect. Pure: it must not run
 * plugins, read files, or use the network.
 */
import { inspect } from 'node:util';
import { ProfileError } from '../errors/index.ts';
import { isObject } from '../util/guards.ts';
import { printable } from '../util/printable.ts';
import { checkProfileCluster, notPublished, type ResolvedCluster } from './cluster.ts';
import {
  type AccessProvider,
  type ClusterProfile,
  clusterSchema,
  type Ignored,
  type ParsedCluster,
  type Refuse,
} from './cluster-profile.ts';
import { applyExtensions } from './extensions.ts';
import type { Json } from './json.ts';
import type { ApiVersion, EnvVar, InteractiveMode } from './provider.ts';
import type { ConfiguredProvider } from './provider-schema.ts';
import { fieldPath, nearest } from './schema-problems.ts';
import { createGlob } from './url-pattern.ts';

/** The result of matching a ClusterProfile with the providers: a copy, in plain JSON. */
export interface ResolvedAccess {
  /** The access type that matched. */
  readonly provider: string;
  readonly cluster: ResolvedCluster;
  readonly exec: ResolvedExec;
  /** Settings of the profile that were not applied. */
  readonly ignored: readonly Ignored[];
}

/** The plugin as it will run: what the operator configured, and what the policies let the profile add. */
export interface ResolvedExec {
  readonly apiVersion: ApiVersion;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly EnvVar[];
  /**
   * Names of variables in `env` that a profile adds under `AppendIfNotExists`: a run omits those that the process's own environment
   * has. This is decided when the plugin runs, so `ignored` does not list them.
   */
  readonly appendIfNotExists?: readonly string[];
  readonly provideClusterInfo: boolean;
  /** The exec extension, verbatim. */
  readonly config?: Json;
  readonly installHint?: string;
  readonly interactiveMode: InteractiveMode;
}

/** The access of a config: a `ResolvedAccess`, or that of a kubeconfig, whose user may have no plugin. */
export interface ConfigAccess extends Omit<ResolvedAccess, 'exec'> {
  readonly exec?: ResolvedExec;
}

/** `namespace/name` of a profile, for messages. */
export function profileName(profile: ClusterProfile): string {
  const metadata: unknown = isObject(profile) ? profile.metadata : undefined;
  if (!isObject(metadata)) return '(without a name)';
  const { namespace, name } = metadata as { namespace?: unknown; name?: unknown }; // an object; the types are checked next
  const parts = [namespace, name].filter((part) => typeof part === 'string' && part !== '');
  return parts.length === 0 ? '(without a name)' : printable(parts.join('/'), 512);
}

/**
 * @internal Matches a profile with the providers, in the providers' order.
 * @throws {ProfileError} and nothing else
 */
export function resolve(profile: ClusterProfile, providers: readonly ConfiguredProvider[]): ResolvedAccess {
  let chosen: string | undefined;
  const refuse: Refuse = (code, path, message) => {
    throw new ProfileError(code, profileName(profile), path, message, chosen);
  };
  const { provider, entry, path } = matchProvider(profile, providers, refuse);
  chosen = provider.name;
  checkProfile(profile, provider, refuse);
  if (entry.cluster === undefined || entry.cluster === null) {
    return refuse('CLUSTER_INVALID', `${path}.cluster`, 'is missing: without it there is no server to talk to');
  }
  const at = `${path}.cluster`;
  const parsed = clusterSchema.safeParse(entry.cluster);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue && issue.path.length > 0 ? `.${fieldPath(issue.path)}` : '';
    return refuse('CLUSTER_INVALID', `${at}${field}`, issue?.message ?? 'is not a cluster');
  }
  const cluster = parsed.data;
  const ignored: Ignored[] = [];
  for (const field of Object.keys(entry.cluster)) {
    if (Object.hasOwn(clusterSchema.shape, field)) continue;
    ignored.push({ path: `${at}.${field}`, reason: 'is not a field of a cluster' });
  }
  if (cluster['certificate-authority']) {
    const reason = 'a ClusterProfile has no file system: use certificate-authority-data';
    ignored.push({ path: `${at}.certificate-authority`, reason });
  }
  checkSize(cluster, at, refuse);
  const resolvedCluster = checkProfileCluster(cluster, provider, at, refuse);
  const exec = applyExtensions(cluster.extensions, provider, `${at}.extensions`, ignored, refuse);
  return { provider: provider.name, cluster: resolvedCluster, exec, ignored: listed(ignored) };
}

/** KEP-4322: providers are tried in the operator's order; the first that the profile lists wins. `path` is that of its entry. */
function matchProvider(profile: ClusterProfile, providers: readonly ConfiguredProvider[], refuse: Refuse) {
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
        const message = `"${provider.name}" duplicates ${path}[${index}]: keep one of the two`;
        refuse('PROFILE_INVALID', `${path}[${second}].name`, message);
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

/** Probably a typing mistake, on one side or the other. Long types are left out: the time grows with the product of both lengths. */
function nearMatch(offered: readonly string[], configured: readonly string[]): string {
  for (const name of offered.slice(0, 20)) {
    const meant = name.length > 64 ? undefined : nearest(name, configured.slice(0, 100));
    if (meant !== undefined) return `"${name}" is not configured; did you mean "${meant}"? The profile `;
  }
  return '';
}

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
function checkProfile(
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

/** The most ignored fields of a profile that are listed. */
const maxIgnored = 100;
/** The longest path of one of these, and the longest reason. */
const maxIgnoredBytes = 512;

/** This is logged: one profile must not forge lines of a log, or fill it. */
function listed(ignored: readonly Ignored[]): readonly Ignored[] {
  const first = ignored.slice(0, maxIgnored).map(({ path, reason }) => ({
    path: printable(path, maxIgnoredBytes),
    reason: printable(reason, maxIgnoredBytes),
  }));
  if (ignored.length <= maxIgnored) return first;
  return [...first, { path: 'status', reason: `${ignored.length - maxIgnored} more things are not applied` }];
}

/**
 * Returns an access that prints the values of its variables as `[redacted]`: the operator configured them, and may have put a secret
 * there. Code reads them as before. `inspect` always hides them; with `json`, `JSON.stringify` does too.
 */
export function printedWithoutValues<T extends ConfigAccess>(access: T, { json }: { readonly json: boolean }): T {
  const { exec: given } = access;
  if (!given) return access;
  const hidden = (): ResolvedExec => ({
    ...given,
    env: given.env.map(({ name }) => ({ name, value: '[redacted]' })),
  });
  // Not enumerable: code, comparisons and copies see plain data.
  const exec = Object.defineProperty({ ...given }, inspect.custom, { value: hidden });
  if (json) Object.defineProperty(exec, 'toJSON', { value: hidden });
  return { ...access, exec };
}

/** All extensions of a cluster together, in bytes of JSON. */
const maxExtensionBytes = 256 * 1024;

/**
 * Refuses a cluster larger than any cluster manager would publish: otherwise the author of one profile could keep the controller of all
 * clusters busy.
 */
function checkSize(cluster: ParsedCluster, at: string, refuse: Refuse): void {
  const limits = [
    // Proxies and gateways refuse longer URLs.
    ['server', 4 * 1024],
    ['proxy-url', 4 * 1024],
    // RFC 1035
    ['tls-server-name', 253],
  ] as const;
  for (const [field, limit] of limits) {
    if (Buffer.byteLength(cluster[field] ?? '') <= limit) continue;
    refuse('PROFILE_TOO_LARGE', `${at}.${field}`, `is longer than ${limit} bytes: shorten it`);
  }
  if (jsonBytes(cluster.extensions) > maxExtensionBytes) {
    const message = `are more than ${maxExtensionBytes} bytes of JSON together: publish less, or a reference to it`;
    refuse('PROFILE_TOO_LARGE', `${at}.extensions`, message);
  }
}

/** A value that contains itself, or is nested deeper than the stack, is larger than any limit. */
function jsonBytes(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
