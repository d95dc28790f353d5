/** The fields of a cluster, checked by the rules that a ClusterProfile and a kubeconfig share. Pure. */
import { hash } from 'node:crypto';
import type { ParsedCluster, Refuse } from './cluster-profile.ts';
import { readCertificates } from './pem.ts';
import { withoutLastSlashes } from './url-pattern.ts';

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
    refuse(
      'CA_INVALID',
      `${at}.certificate-authority-data`,
      'cannot be combined with insecure-skip-tls-verify: keep one',
    );
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

function certificatesProblem(base64: string): string | undefined {
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64))
    return 'is not base64: it must hold the PEM of the authority, encoded as base64';
  const reading = readCertificates(Buffer.from(base64, 'base64').toString('latin1'));
  return 'problem' in reading ? reading.problem : undefined;
}

/** Results of earlier checks, by the digest of the text: controllers resolve the same profiles repeatedly. */
const verdicts = new Map<string, string | undefined>();
const maxVerdicts = 10_000;

/** @internal The problem with an authority (base64 of PEM), or `undefined`. */
export function authorityProblem(base64: string): string | undefined {
  const digest = hash('sha256', base64, 'base64');
  if (verdicts.has(digest)) return verdicts.get(digest);
  const verdict = certificatesProblem(base64);
  const [oldest] = verdicts.size < maxVerdicts ? [] : verdicts.keys();
  if (oldest !== undefined) verdicts.delete(oldest);
  verdicts.set(digest, verdict);
  return verdict;
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
