import type { Cluster } from '@kubernetes/client-node';
import type { ConfigAccess } from '../access/resolve.ts';
import type { Connections } from './transport/connections.ts';
import type { Destination } from './transport/destination.ts';

/** What a RestConfig is made of. */
export interface RestConfigParts {
  /** Of its cluster and context. */
  readonly name: string;
  readonly user: string;
  readonly namespace?: string | undefined;
  readonly access: ConfigAccess;
  readonly destination: Destination;
  readonly connections: Connections;
  /** Where the connections are this config's alone: stops the runs of its plugin. */
  readonly stop?: AbortController;
  /** Of a kubeconfig: the paths of a credential that needs no plugin, named as there. */
  readonly credentialFiles?: Readonly<Record<string, string>>;
}

export const noUser =
  'the user of this config has no credentials in it, since they change: take config.credential(), config.agent or config.dispatcher, or toKubeConfig for another version of client-node';
export const howToMake =
  'has no public constructor: use providers.getConfig, RestConfig.fromKubeConfig or RestConfig.fromDefault';

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
