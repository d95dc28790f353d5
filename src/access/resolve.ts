/**
 * A ClusterProfile and the operator's providers come in, a ResolvedAccess goes out: everything needed to connect.
 * Pure: it must not know of plugins that run, of files, or of the network.
 */
import { isObject } from '../argument.ts';
import { ProfileError } from '../errors.ts';
import { printable } from '../printable.ts';
import type { ApiVersion } from './api-versions.ts';
import { checkCluster, hasLogin, type ResolvedCluster } from './cluster.ts';
import {
  type AccessProvider,
  type ClusterProfile,
  clusterFields,
  clusterSchema,
  type ParsedCluster,
} from './cluster-profile.ts';
import { applyExtensions, type Ignored, type Refuse } from './extensions.ts';
import { createGlob } from './glob.ts';
import type { Json } from './json.ts';
import { checkExtensionCount, checkSize, maxIgnored, maxIgnoredBytes } from './limits.ts';
import { nearest } from './nearest.ts';
import { type ConfiguredProvider, type EnvVar, fieldPath, type InteractiveMode } from './provider.ts';
import { isServerName, matchesAny, type UrlPattern } from './url-pattern.ts';

/** The result of matching a ClusterProfile with the providers. Plain JSON, and a copy: nothing of it is shared. */
export interface ResolvedAccess {
  /** The access type that matched. */
  readonly provider: string;
  readonly cluster: ResolvedCluster;
  readonly exec: ResolvedExec;
  /** Everything that the profile asked for and did not get. */
  readonly ignored: readonly Ignored[];
}

export interface ResolvedExec {
  readonly apiVersion: ApiVersion;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly EnvVar[];
  /**
   * Names of variables in `env` that a profile adds under `AppendIfNotExists`: each is left out of a run for which the
   * process's own environment has it. That is looked at when the plugin runs, so `ignored` does not have it.
   */
  readonly appendIfNotExists?: readonly string[];
  readonly provideClusterInfo: boolean;
  /** The exec extension, verbatim. */
  readonly config?: Json;
  readonly installHint?: string;
  readonly interactiveMode: InteractiveMode;
}

/** What a config connects with: a `ResolvedAccess`, or what a kubeconfig says, whose user may do without a plugin. */
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

/** Matches a profile with the providers, in the providers' order. Throws nothing but a `ProfileError`. */
export function resolve(profile: ClusterProfile, providers: readonly ConfiguredProvider[]): ResolvedAccess {
  let chosen: string | undefined;
  const refuse: Refuse = (code, path, message) => {
    throw new ProfileError(code, profileName(profile), path, message, chosen);
  };
  const { provider, entry, path } = match(profile, providers, refuse);
  chosen = provider.name;
  checkProfile(profile, provider, refuse);
  if (entry.cluster === undefined || entry.cluster === null) {
    return refuse('CLUSTER_MISSING', `${path}.cluster`, 'is missing: without it there is no server to talk to');
  }
  const at = `${path}.cluster`;
  checkExtensionCount(entry.cluster, at, refuse);
  const parsed = clusterSchema.safeParse(entry.cluster);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue && issue.path.length > 0 ? `.${fieldPath(issue.path)}` : '';
    return refuse('CLUSTER_INVALID', `${at}${field}`, issue?.message ?? 'is not a cluster');
  }
  const cluster = parsed.data;
  const ignored: Ignored[] = [];
  for (const field of Object.keys(entry.cluster)) {
    if (!clusterFields.has(field)) ignored.push({ path: `${at}.${field}`, reason: 'is not a field of a cluster' });
  }
  if (cluster['certificate-authority']) {
    const reason = 'a ClusterProfile has no file system: use certificate-authority-data';
    ignored.push({ path: `${at}.certificate-authority`, reason });
  }
  checkSize(cluster, at, refuse);
  const resolvedCluster = readCluster(cluster, provider, at, refuse);
  const applied = applyExtensions(cluster.extensions, provider, `${at}.extensions`, ignored, refuse);
  const { args, env, appendIfNotExists, config } = applied;
  const { apiVersion, command, provideClusterInfo, installHint, interactiveMode } = provider.execConfig;
  return {
    provider: provider.name,
    cluster: resolvedCluster,
    exec: {
      apiVersion,
      command,
      args: [...args],
      env: env.map(({ name, value }) => ({ name, value })),
      ...(appendIfNotExists.length === 0 ? {} : { appendIfNotExists }),
      provideClusterInfo,
      ...(config === undefined ? {} : { config }),
      ...(installHint === undefined ? {} : { installHint }),
      interactiveMode,
    },
    ignored: told(ignored),
  };
}

/** What is told is logged, and one profile must not forge or fill a log. */
function told(ignored: readonly Ignored[]): readonly Ignored[] {
  const first = ignored.slice(0, maxIgnored).map(({ path, reason }) => ({
    path: printable(path, maxIgnoredBytes),
    reason: printable(reason, maxIgnoredBytes),
  }));
  if (ignored.length <= maxIgnored) return first;
  return [...first, { path: 'status', reason: `${ignored.length - maxIgnored} more things are not applied` }];
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
    refuse('PROFILE_NOT_ALLOWED', path, `${is}, and has to be in ${which}`);
  };
  check('namespaces', isObject(metadata) ? metadata.namespace : undefined, 'metadata.namespace');
  check('clusterManagers', isObject(manager) ? Reflect.get(manager, 'name') : undefined, 'spec.clusterManager.name');
}

interface Match {
  readonly provider: ConfiguredProvider;
  readonly entry: AccessProvider;
  /** The path of the entry in the profile. */
  readonly path: string;
}

/** KEP-5339: providers are tried in the operator's order; the first that the profile lists wins. */
function match(profile: ClusterProfile, providers: readonly ConfiguredProvider[], refuse: Refuse): Match {
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
          `"${provider.name}" already stands at ${path}[${index}]: keep one of the two`,
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
    `${nearMatch(names, configured)}offers ${offered.join(', ') || 'nothing'}, and configured ${configured.length === 0 ? 'is no provider' : `are ${configured.join(', ')}`}: ` +
      'add a provider for one of the offered types with --clusterprofile-access-provider or in the provider file',
  );
}

/** A manager may write a profile, and its conditions, before it knows how the cluster is reached. */
function notPublished(what: string): string {
  return `the cluster manager has not published ${what} yet; see its log if that lasts`;
}

/** Most likely a typing mistake, on one side or the other. */
function nearMatch(offered: readonly string[], configured: readonly string[]): string {
  for (const name of offered.slice(0, 20)) {
    const meant = name.length > longestCompared ? undefined : nearest(name, configured.slice(0, 100));
    if (meant !== undefined) return `did the profile mean "${meant}" by "${name}"? It `;
  }
  return '';
}

/** Characters of an access type that is compared with those that are configured: it takes the product of both. */
const longestCompared = 64;

function readList(value: unknown, path: string, refuse: Refuse): readonly AccessProvider[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return refuse('PROFILE_INVALID', path, 'must be a list');
  const entries: readonly unknown[] = value;
  return entries.map((entry, index) => {
    if (!isEntry(entry)) return refuse('PROFILE_INVALID', `${path}[${index}]`, 'must be an object with a name');
    return entry;
  });
}

function isEntry(value: unknown): value is AccessProvider {
  return isObject(value) && typeof Reflect.get(value, 'name') === 'string';
}

function readCluster(
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
      'holds a user or password, and a ClusterProfile holds no secrets: put the login into HTTPS_PROXY of this program',
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

/** Where a credential may go: a broad token that is sent to a server of the profile's choice is a stolen token. */
function checkAllowed(
  { server, tlsServerName, proxyUrl }: ResolvedCluster,
  { name, allowedServers, allowedServerNames, allowedProxies }: ConfiguredProvider,
  at: string,
  refuse: Refuse,
): void {
  const list = (patterns: readonly UrlPattern[]) => patterns.map(({ text }) => text).join(', ') || 'empty';
  if (allowedServers && !matchesAny(allowedServers, server)) {
    const which = `allowedServers of provider ${name} (${list(allowedServers)})`;
    refuse(
      'SERVER_NOT_ALLOWED',
      `${at}.server`,
      `${new URL(server).origin} is not in ${which}: no credential is sent there; correct the profile, or the list`,
    );
  }
  if (tlsServerName !== undefined && (allowedServers || allowedServerNames)) {
    const names = allowedServerNames ?? [];
    if (!isServerName(tlsServerName, server, names)) {
      // A router that goes by this name would hand the connection to another server, and the profile brings its authority.
      const which = `allowedServerNames of provider ${name} (${list(names)})`;
      const message = `"${tlsServerName}" is neither the host of server nor in ${which}: no credential is sent there; correct the profile, or the list`;
      refuse('SERVER_NOT_ALLOWED', `${at}.tls-server-name`, message);
    }
  }
  if (proxyUrl === undefined || (!allowedProxies && !allowedServers)) return;
  if (!allowedProxies) {
    // With an authority and a proxy of its own choice a profile could pretend to be an allowed server.
    const why = `provider ${name} has allowedServers, and a proxy of the profile's choice could pretend to be one of them`;
    refuse('PROXY_NOT_ALLOWED', `${at}.proxy-url`, `${why}: list it in allowedProxies`);
  } else if (!matchesAny(allowedProxies, proxyUrl)) {
    const which = `allowedProxies of provider ${name} (${list(allowedProxies)})`;
    refuse('PROXY_NOT_ALLOWED', `${at}.proxy-url`, `is not in ${which}`);
  }
}

function howToAllow(provider: ConfiguredProvider): string {
  return (
    `without verification anybody on the way can collect the token; if this access type must be allowed to do it, ` +
    `set allowInsecureTLS: true on provider ${provider.name}`
  );
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
