/**
 * A ClusterProfile and the operator's providers come in, a ResolvedAccess goes out: everything needed to connect.
 * Pure: it must not know of plugins that run, of files, or of the network.
 */
import { X509Certificate } from 'node:crypto';
import { ProfileError, type ProfileErrorCode } from '../errors.ts';
import {
  type AccessProvider,
  type ClusterProfile,
  clusterFields,
  clusterSchema,
  type ParsedCluster,
} from './cluster-profile.ts';
import { applyExtensions, type Ignored, type Refuse } from './extensions.ts';
import type { Json } from './json.ts';
import { type ApiVersion, type ConfiguredProvider, type EnvVar, fieldPath, type InteractiveMode } from './provider.ts';

/** The result of matching a ClusterProfile with the providers. Plain JSON, and a copy: nothing of it is shared. */
export interface ResolvedAccess {
  /** The access type that matched. */
  readonly provider: string;
  readonly cluster: ResolvedCluster;
  readonly exec: ResolvedExec;
  /** Everything that the profile asked for and did not get. */
  readonly ignored: readonly Ignored[];
}

export interface ResolvedCluster {
  /** `https://host[:port][/prefix]`, without a trailing slash. */
  readonly server: string;
  /** Base64 of PEM. */
  readonly certificateAuthorityData?: string;
  readonly tlsServerName?: string;
  readonly insecureSkipTlsVerify: boolean;
  readonly proxyUrl?: string;
  readonly disableCompression: boolean;
}

export interface ResolvedExec {
  readonly apiVersion: ApiVersion;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly EnvVar[];
  readonly provideClusterInfo: boolean;
  /** The exec extension, verbatim. */
  readonly config?: Json;
  readonly installHint?: string;
  readonly interactiveMode: InteractiveMode;
}

/** `namespace/name` of a profile, for messages. */
export function profileName(profile: ClusterProfile): string {
  const metadata: unknown = isObject(profile) ? profile.metadata : undefined;
  if (!isObject(metadata)) return '(without a name)';
  const { namespace, name } = metadata as { namespace?: unknown; name?: unknown }; // an object; the types are checked next
  const parts = [namespace, name].filter((part) => typeof part === 'string' && part !== '');
  return parts.length === 0 ? '(without a name)' : parts.join('/');
}

/** Matches a profile with the providers, in the providers' order. Throws nothing but a `ProfileError`. */
export function resolve(profile: ClusterProfile, providers: readonly ConfiguredProvider[]): ResolvedAccess {
  const refuse: Refuse = (code, path, message) => {
    throw new ProfileError(code, profileName(profile), path, message);
  };
  const { provider, entry, path } = match(profile, providers, refuse);
  if (entry.cluster === undefined || entry.cluster === null) {
    return refuse('CLUSTER_MISSING', `${path}.cluster`, 'is missing: without it there is no server to talk to');
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
    if (!clusterFields.has(field)) ignored.push({ path: `${at}.${field}`, reason: 'is not a field of a cluster' });
  }
  if (cluster['certificate-authority']) {
    const reason = 'a ClusterProfile has no file system: use certificate-authority-data';
    ignored.push({ path: `${at}.certificate-authority`, reason });
  }
  const resolvedCluster = readCluster(cluster, provider, at, refuse);
  const { args, env, config } = applyExtensions(cluster.extensions, provider, `${at}.extensions`, ignored, refuse);
  const { apiVersion, command, provideClusterInfo, installHint, interactiveMode } = provider.execConfig;
  return {
    provider: provider.name,
    cluster: resolvedCluster,
    exec: {
      apiVersion,
      command,
      args: [...args],
      env: env.map(({ name, value }) => ({ name, value })),
      provideClusterInfo,
      ...(config === undefined ? {} : { config }),
      ...(installHint === undefined ? {} : { installHint }),
      interactiveMode,
    },
    ignored,
  };
}

interface Match {
  readonly provider: ConfiguredProvider;
  readonly entry: AccessProvider;
  /** Where the entry stands in the profile. */
  readonly path: string;
}

/** KEP-5339: providers are tried in the operator's order; the first that the profile lists wins. */
function match(profile: ClusterProfile, providers: readonly ConfiguredProvider[], refuse: Refuse): Match {
  if (!isObject(profile)) return refuse('PROFILE_INVALID', '', 'is not an object');
  const { status } = profile;
  if (status === undefined || status === null) {
    return refuse(
      'NO_MATCHING_PROVIDER',
      'status',
      'is missing: the cluster manager has not published access providers yet',
    );
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
        refuse('PROFILE_INVALID', `${path}[${second}].name`, `"${provider.name}" already stands at ${path}[${index}]`);
      }
      return { provider, entry, path: `${path}[${index}]` };
    }
  }
  const offered = [...new Set(lists.flatMap(({ entries }) => entries.map(({ name }) => name)))];
  const configured = providers.map(({ name }) => name);
  return refuse(
    'NO_MATCHING_PROVIDER',
    'status.accessProviders',
    `offers ${offered.join(', ') || 'nothing'}, and configured ${configured.length === 0 ? 'is no provider' : `are ${configured.join(', ')}`}: ` +
      'add a provider for one of the offered types with --clusterprofile-access-provider or in the provider file',
  );
}

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

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readCluster(
  cluster: ParsedCluster,
  provider: ConfiguredProvider,
  at: string,
  refuse: Refuse,
): ResolvedCluster {
  const insecure = cluster['insecure-skip-tls-verify'];
  const ca = cluster['certificate-authority-data'];
  const tlsServerName = cluster['tls-server-name'];
  const proxyUrl = cluster['proxy-url'];
  if (insecure && !provider.allowInsecureTLS) {
    refuse('SERVER_INSECURE', `${at}.insecure-skip-tls-verify`, `is refused: ${howToAllow(provider)}`);
  }
  if (insecure && ca !== undefined) {
    refuse('CA_INVALID', `${at}.certificate-authority-data`, 'cannot stand beside insecure-skip-tls-verify: keep one');
  }
  if (tlsServerName !== undefined && !/^[^\s/:@\\\p{Cc}]+$/u.test(tlsServerName)) {
    refuse('CLUSTER_INVALID', `${at}.tls-server-name`, 'must be a host name, without port or path');
  }
  const certificateAuthorityData = ca === undefined ? undefined : readCertificates(ca, at, refuse);
  if (proxyUrl !== undefined) checkProxy(proxyUrl, `${at}.proxy-url`, refuse);
  return {
    server: readServer(cluster.server, provider, `${at}.server`, refuse),
    ...(certificateAuthorityData === undefined ? {} : { certificateAuthorityData }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    insecureSkipTlsVerify: insecure,
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
    disableCompression: cluster['disable-compression'],
  };
}

function howToAllow(provider: ConfiguredProvider): string {
  return (
    `without verification anybody on the way can collect the token; if this access type must be allowed to do it, ` +
    `set allowInsecureTLS: true on provider ${provider.name}`
  );
}

/** An absolute https:// URL whose text later code may append a path to. */
function readServer(server: string | undefined, provider: ConfiguredProvider, path: string, refuse: Refuse): string {
  const bad = (message: string, code: ProfileErrorCode = 'SERVER_INVALID') => refuse(code, path, message);
  if (server === undefined) return bad('is missing: it must be an https:// URL');
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^\s\\\p{Cc}]+)$/iu.exec(server) ?? [];
  const url = rest === '' || rest.startsWith('/') ? null : URL.parse(server);
  if (!url || url.hostname === '') return bad('is not an absolute https:// URL');
  // The URL is not quoted here: what stands before the @ may be a password.
  if (/^[^/?#]*@/.test(rest)) return bad('holds a user or password, and a ClusterProfile holds no secrets');
  if (rest.includes('?')) return bad('must not have a query');
  if (rest.includes('#')) return bad('must not have a fragment');
  if (url.protocol === 'http:') {
    if (!isLoopback(url.hostname))
      return bad('is http://, which would send the token in the clear: use https://', 'SERVER_INSECURE');
    if (!provider.allowInsecureTLS) return bad(`is http://: ${howToAllow(provider)}`, 'SERVER_INSECURE');
  } else if (url.protocol !== 'https:') {
    return bad(`has the scheme ${scheme}://, and only https:// is supported`);
  }
  return `${url.protocol}//${rest.replace(/\/+$/, '')}`;
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/** Base64 of PEM, as Go reads it: line breaks in the base64 are passed over. */
function readCertificates(data: string, at: string, refuse: Refuse): string {
  const path = `${at}.certificate-authority-data`;
  const base64 = data.replace(/[\r\n]/g, '');
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) {
    return refuse('CA_INVALID', path, 'is not base64');
  }
  const pem = Buffer.from(base64, 'base64').toString('latin1');
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  if (!blocks) return refuse('CA_INVALID', path, 'holds no PEM certificate: it must be the base64 of a PEM file');
  for (const [index, block] of blocks.entries()) {
    try {
      new X509Certificate(block);
    } catch {
      return refuse('CA_INVALID', path, `certificate ${index + 1} of ${blocks.length} cannot be read`);
    }
  }
  return base64;
}

function checkProxy(text: string, path: string, refuse: Refuse): void {
  const url = URL.parse(text);
  // The URL is not quoted: it may hold a password.
  if (!url || url.hostname === '' || /[\s\p{Cc}\\]/u.test(text)) refuse('PROXY_INVALID', path, 'is not a URL');
  else if (!['http:', 'https:', 'socks5:'].includes(url.protocol)) {
    refuse('PROXY_INVALID', path, 'must be an http://, https:// or socks5:// URL');
  } else if (url.username !== '' || url.password !== '') {
    refuse('PROXY_INVALID', path, 'holds a user or password, and a ClusterProfile holds no secrets');
  }
}
