import type { ConfigAccess } from '../access/resolve.ts';
import type { Destination } from './transport/connection.ts';
import type { Connections } from './transport/connections.ts';

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
