/** Reads where a profile's cluster is, and checks that a credential may go there. */
import { isLoopback } from '../util/hosts.ts';
import { checkCluster, hasLogin, type ResolvedCluster } from './cluster.ts';
import type { ParsedCluster, Refuse } from './cluster-profile.ts';
import { notPublished } from './match-provider.ts';
import type { ConfiguredProvider } from './provider.ts';
import { isServerName, matchesAny, type UrlPattern } from './url-pattern.ts';

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
  const list = (patterns: readonly UrlPattern[]) => patterns.map(({ text }) => text).join(', ') || 'empty';
  if (allowedServers && !matchesAny(allowedServers, server)) {
    const which = `allowedServers of provider ${name} (${list(allowedServers)})`;
    refuse(
      'SERVER_NOT_ALLOWED',
      `${at}.server`,
      `${server} is not in ${which}: no credential is sent there; correct the profile, or the list`,
    );
  }
  if (tlsServerName !== undefined && (allowedServers || allowedServerNames)) {
    const names = allowedServerNames ?? [];
    if (!isServerName(tlsServerName, server, names)) {
      // A router that uses this name would pass the connection to another server, which the profile's authority could vouch for.
      const which = `allowedServerNames of provider ${name} (${list(names)})`;
      const message = `"${tlsServerName}" is neither the host of server nor in ${which}: no credential is sent there; correct the profile, or the list`;
      refuse('SERVER_NOT_ALLOWED', `${at}.tls-server-name`, message);
    }
  }
  if (proxyUrl === undefined || (!allowedProxies && !allowedServers)) return;
  if (!allowedProxies) {
    // A profile that chooses both its authority and its proxy could pretend to be an allowed server.
    const why = `provider ${name} has allowedServers, and a proxy of the profile's choice could pretend to be one of them`;
    refuse('PROXY_NOT_ALLOWED', `${at}.proxy-url`, `${why}: list it in allowedProxies`);
  } else if (!matchesAny(allowedProxies, proxyUrl)) {
    const which = `allowedProxies of provider ${name} (${list(allowedProxies)})`;
    refuse('PROXY_NOT_ALLOWED', `${at}.proxy-url`, `is not in ${which}`);
  }
}

function howToAllow(provider: ConfiguredProvider): string {
  return (
    `without verification anyone on the network path can steal the token; if this access type must be allowed to do it, ` +
    `set allowInsecureTLS: true on provider ${provider.name}`
  );
}
