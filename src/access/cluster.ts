/**
 * The fields of a cluster, checked: by the rules that a ClusterProfile and a kubeconfig share, and by those of the provider that a profile
 * has chosen. Pure.
 */
import { isLoopback } from '../util/hosts.ts';
import { authorityProblem } from './certificates.ts';
import type { ParsedCluster, Refuse } from './cluster-profile.ts';
import type { ConfiguredProvider } from './provider-schema.ts';
import { isServerName, matchesAny, type UrlPattern, withoutLastSlashes } from './url-pattern.ts';

/** Where the cluster is, and how to connect to it. */
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

/** @internal Checks a cluster's fields. The caller decides whether it may be insecure, and whether its proxy may have a login. */
export function checkCluster(cluster: ParsedCluster, at: string, refuse: Refuse): ResolvedCluster {
  const insecureSkipTlsVerify = cluster['insecure-skip-tls-verify'];
  const ca = cluster['certificate-authority-data'];
  const tlsServerName = cluster['tls-server-name'];
  const proxyUrl = cluster['proxy-url'] && withoutSocks5h(cluster['proxy-url']);
  if (insecureSkipTlsVerify && ca !== undefined) {
    const message = 'cannot be combined with insecure-skip-tls-verify: keep one';
    refuse('CA_INVALID', `${at}.certificate-authority-data`, message);
  }
  if (tlsServerName !== undefined && !/^[^\s/:@\\\p{Cc}]+$/u.test(tlsServerName)) {
    refuse('CLUSTER_INVALID', `${at}.tls-server-name`, 'must be a host name, without port or path');
  }
  const certificateAuthorityData = ca === undefined ? undefined : readAuthority(ca, at, refuse);
  if (proxyUrl !== undefined) checkProxy(proxyUrl, `${at}.proxy-url`, refuse);
  return {
    server: readServer(cluster.server, `${at}.server`, refuse),
    ...(certificateAuthorityData === undefined ? {} : { certificateAuthorityData }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    insecureSkipTlsVerify,
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
    disableCompression: cluster['disable-compression'],
  };
}

export function hasLogin(url: URL): boolean {
  return url.username !== '' || url.password !== '';
}

/** An absolute https:// or http:// URL to which a path can be appended. */
function readServer(server: string | undefined, path: string, refuse: Refuse): string {
  const bad = (message: string) => refuse('SERVER_INVALID', path, message);
  if (server === undefined) return bad('is missing: it must be an https:// URL');
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^\s\\\p{Cc}]+)$/iu.exec(server) ?? [];
  const url = rest === '' || rest.startsWith('/') ? null : URL.parse(server);
  if (!url || url.hostname === '') return bad('is not an absolute https:// URL: write it as https://host:port');
  // The URL is not quoted here: it may contain a password before the @.
  if (/^[^/?#]*@/.test(rest)) return bad('holds a user or password: take it out');
  if (rest.includes('?')) return bad('must not have a query');
  if (rest.includes('#')) return bad('must not have a fragment');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return bad(`has the scheme ${scheme}://, and only https:// is supported`);
  }
  return `${url.protocol}//${withoutLastSlashes(rest)}`;
}

/** Base64 of PEM. Line breaks in the base64 are ignored, as in Go. */
function readAuthority(data: string, at: string, refuse: Refuse): string {
  const base64 = data.replace(/[\r\n]/g, '');
  const problem = authorityProblem(base64);
  return problem ? refuse('CA_INVALID', `${at}.certificate-authority-data`, problem) : base64;
}

function checkProxy(text: string, path: string, refuse: Refuse): void {
  const url = URL.parse(text);
  // The URL is not quoted: it may have a password.
  if (!url || url.hostname === '' || /[\s\p{Cc}\\]/u.test(text)) refuse('PROXY_INVALID', path, 'is not a URL');
  else if (!['http:', 'https:', 'socks5:'].includes(url.protocol)) {
    refuse('PROXY_INVALID', path, 'must be an http://, https:// or socks5:// URL');
  }
}

/** As in Go, `socks5h` is another name for `socks5`: with both, the proxy resolves the server's name. */
export function withoutSocks5h(proxyUrl: string): string {
  return proxyUrl.replace(/^socks5h:/i, 'socks5:');
}

/** @internal The cluster of a ClusterProfile, as the provider allows it. `at` is its path in the profile. */
export function checkProfileCluster(
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
    const advice = "a ClusterProfile must not hold secrets: put the login into this program's HTTPS_PROXY";
    refuse('PROXY_INVALID', `${at}.proxy-url`, `holds a user or password, and ${advice}`);
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

/** A cluster manager may write a profile and its conditions before it knows how to reach the cluster. */
export function notPublished(what: string): string {
  return `the cluster manager has not published ${what} yet; see its log if that lasts`;
}
