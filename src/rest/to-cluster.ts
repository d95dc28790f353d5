import type { Cluster } from '@kubernetes/client-node';
import type { ConfigAccess } from '../access/resolve.ts';

/** The entry of a KubeConfig. */
export function toCluster(name: string, { cluster }: ConfigAccess): Cluster {
  return Object.freeze({
    name,
    server: cluster.server,
    skipTLSVerify: cluster.insecureSkipTlsVerify,
    ...(cluster.certificateAuthorityData ? { caData: cluster.certificateAuthorityData } : {}),
    ...(cluster.tlsServerName ? { tlsServerName: cluster.tlsServerName } : {}),
    ...(cluster.proxyUrl ? { proxyUrl: cluster.proxyUrl } : {}),
  });
}
