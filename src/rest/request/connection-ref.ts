import { RequestError } from '../../errors/index.ts';
import { ClusterLog } from '../transport/cluster-log.ts';
import type { Connection } from '../transport/connection.ts';
import type { ClusterFacts } from '../transport/connection-errors.ts';
import type { Connections } from '../transport/connections.ts';
import type { Destination } from '../transport/destination.ts';

export const providersClosed = 'the CredentialProviders have been closed: make new ones, and get the config from them';

/**
 * One config's reference to a connection. Taken at its first request, given back by `close()` or the garbage collector. It must not
 * reference the dispatcher, or that could never be collected.
 */
export class ConnectionRef {
  readonly #connections: Connections;
  readonly #destination: Destination;
  readonly log: ClusterLog;
  /** Stays after `close()`: requests that are under way go on. */
  #connection: Connection | undefined;
  #closed = false;

  constructor(connections: Connections, destination: Destination, cluster: ClusterFacts) {
    this.#connections = connections;
    this.#destination = destination;
    this.log = new ClusterLog(cluster, destination.provider, connections.log, () => this.secrets);
  }

  /** Why no request can use it any more, or `undefined`. */
  get ended(): RequestError | undefined {
    if (this.#closed) {
      const message =
        'this config has been closed: get a new one where this one came from (getConfig, fromKubeConfig, fromDefault)';
      return new RequestError('CONFIG_CLOSED', message);
    }
    if (this.#connections.closed) return new RequestError('CONFIG_CLOSED', providersClosed);
    const { isCurrent, provider } = this.#destination;
    if (isCurrent?.() === false) {
      const message = `the provider file has another provider ${provider} now, or none: call getConfig again`;
      return new RequestError('PROVIDER_CHANGED', message);
    }
    return undefined;
  }

  /** The connection, where a request has needed it. */
  get taken(): Connection | undefined {
    return this.#connection;
  }

  connection(): Connection {
    this.#connection ??= this.#connections.acquire(this.#destination, this.log);
    return this.#connection;
  }

  /** What the server has been sent, and must not be printed. */
  get secrets(): readonly string[] {
    return this.#connection?.source.secrets ?? [];
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#connection?.removeReference();
  }
}
