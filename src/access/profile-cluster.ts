/** Which provider serves a profile, where its cluster is, and whether a credential may go there. */

import { isObject } from '../util/guards.ts';
import { isLoopback } from '../util/hosts.ts';
import { checkCluster, hasLogin, type ResolvedCluster } from './cluster.ts';
import type { AccessProvider, ClusterProfile, ParsedCluster, Refuse } from './cluster-profile.ts';
import type { ConfiguredProvider } from './provider.ts';
import { nearest } from './schema-problems.ts';
import { createGlob, isServerName, matchesAny, type UrlPattern } from './url-pattern.ts';

/** The cluster of a ClusterProfile, as the provider allows it. `at` is its path in the profile. */
export function readCluster(
  cluster: ParsedCluster,
  provider: ConfiguredProvider,
  at: string,
  refuse: Refuse,
): ResolvedCluster {
  if (cluster['insecure-skip-tls-verify'] && !provider.allowInsecureTLS) {
    refuse('SERVER_INSECURE', `${at}.insecure-skip-tls-verify`, `is refused: ${howToAllow(provider)}`);
  }
  if (cluster.server === undefined) {
    refuse('SERVER_INVALID', `${at}.server`, `is empty: ${notPublished("the API server's address")}`);
  }
  const result = checkCluster(cluster, at, refuse);
  if (result.proxyUrl !== undefined && hasLogin(new URL(result.proxyUrl))) {
    refuse(
      'PROXY_INVALID',
      `${at}.proxy-url`,
      "holds a user or password, and a ClusterProfile must not hold secrets: put the login into this program's HTTPS_PROXY",
    );
  }
  checkAllowed(result, provider, at, refuse);
  const { protocol, hostname } = new URL(result.server);
  if (protocol !== 'http:') return result;
  const path = `${at}.server`;
  if (!isLoopback(hostname)) {
    refuse('SERVER_INSECURE', path, 'is http://, which would send the token in the clear: use https://');
  }
  if (!provider.allowInsecureTLS) refuse('SERVER_INSECURE', path, `is http://: ${howToAllow(provider)}`);
  return result;
}

/** Where a credential may go. If a profile could choose the server freely, it could steal a broad token. */
function checkAllowed(
  { server, tlsServerName, proxyUrl }: ResolvedCluster,
  { name, allowedServers, allowedServerNames, allowedProxies }: ConfiguredProvider,
  at: string,
  refuse: Refuse,
): void {
  const which = (field: keyof ConfiguredProvider, patterns: readonly UrlPattern[]) =>
    `${field} of provider ${name} (${patterns.map(({ text }) => text).join(', ') || 'empty'})`;
  const consequence = 'no credential is sent there; correct the profile, or the list';
  if (allowedServers && !matchesAny(allowedServers, server)) {
    const message = `${server} is not in ${which('allowedServers', allowedServers)}: ${consequence}`;
    refuse('SERVER_NOT_ALLOWED', `${at}.server`, message);
  }
  const names = allowedServerNames ?? (allowedServers ? [] : undefined);
  if (tlsServerName !== undefined && names && !isServerName(tlsServerName, server, names)) {
    // A router that uses this name would pass the connection to another server, which the profile's authority could vouch for.
    const allowed = which('allowedServerNames', names);
    const message = `"${tlsServerName}" is neither the host of server nor in ${allowed}: ${consequence}`;
    refuse('SERVER_NOT_ALLOWED', `${at}.tls-server-name`, message);
  }
  if (proxyUrl === undefined || (!allowedProxies && !allowedServers)) return;
  if (!allowedProxies) {
    // A profile that chooses both its authority and its proxy could pretend to be an allowed server.
    const why = `provider ${name} has allowedServers, and a proxy of the profile's choice could pretend to be one of them`;
    refuse('PROXY_NOT_ALLOWED', `${at}.proxy-url`, `${why}: list it in allowedProxies`);
  } else if (!matchesAny(allowedProxies, proxyUrl)) {
    refuse('PROXY_NOT_ALLOWED', `${at}.proxy-url`, `is not in ${which('allowedProxies', allowedProxies)}`);
  }
}

function howToAllow(provider: ConfiguredProvider): string {
  return (
    `without verification anyone on the network path can steal the token; if this access type must be allowed to do it, ` +
    `set allowInsecureTLS: true on provider ${provider.name}`
  );
}

interface Match {
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
function notPublished(what: string): string {
  return `the cluster manager has not published ${what} yet; see its log if that lasts`;
}

/** Probably a typing mistake, on one side or the other. */
function nearMatch(offered: readonly string[], configured: readonly string[]): string {
  for (const name of offered.slice(0, 20)) {
    const meant = name.length > longestCompared ? undefined : nearest(name, configured.slice(0, 100));
    if (meant !== undefined) return `"${name}" is not configured; did you mean "${meant}"? The profile `;
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
