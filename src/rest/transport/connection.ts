import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { buildConnector } from 'undici';
import type { ResolvedCluster } from '../../access/cluster.ts';
import { RequestError } from '../../errors/index.ts';
import type { CredentialSource } from '../../exec/credential-source.ts';
import type { Credential, KeyPair } from '../../exec/exec-credential.ts';
import type { SourceOptions } from '../../exec/exec-credential-source.ts';
import { Rejections } from '../../exec/rejections.ts';
import type { CredentialMetrics } from '../../observability/metrics.ts';
import { emit, type Observer } from '../../observability/telemetry.ts';
import type { ClusterLog, LogOptions } from './cluster-log.ts';
import type { Destination, Impersonation } from './destination.ts';
import { heldBy, keepUntilClosed } from './held-socket.ts';
import { IdentityPools } from './identity-pools.ts';
import type { PoolOptions } from './pool.ts';
import type { ProxyServer } from './proxy.ts';
import type { RequestPool } from './request-pool.ts';

/** What one connection takes from those of all. */
export type ConnectionOptions = ConnectionsOptions & LogOptions;

export interface ConnectionsOptions extends Omit<SourceOptions, 'warnings'> {
  /** Milliseconds that a connection and its credential are kept after the last reference to them. */
  readonly idleTimeoutMs: number;
  /** Treat a 403 as a 401. */
  readonly refreshOnForbidden: boolean;
  readonly metrics?: CredentialMetrics | undefined;
  /** Milliseconds until a connection that does not stand is given up. */
  readonly connectTimeoutMs: number;
  /** Milliseconds for a request that is not long-running. */
  readonly requestTimeoutMs?: number | undefined;
  /** Bytes of an answer for a generated client. */
  readonly maxResponseBytes: number;
  /** Milliseconds that the streams of an earlier certificate may go on. */
  readonly drainTimeoutMs: number;
  /** For tests: when a peer that says nothing is pinged, and given up. */
  readonly liveness?: Pick<PoolOptions, 'pingIntervalMs' | 'silenceMs'>;
}

/** What ends with a connection. */
interface Endable {
  end(reason: RequestError): void;
}

/** One cluster, reached with one credential source: the pool of sockets that all its requests share. */
export class Connection {
  readonly cluster: ResolvedCluster;
  readonly source: CredentialSource;
  readonly origin: string;
  /** The path that the server's URL has, and with it every path of its API. */
  readonly basePath: string;
  readonly impersonation: Impersonation;
  /** The access type. */
  readonly provider: string;
  readonly #rejections = new Rejections();
  #refresh: Promise<Credential | undefined> | undefined;
  readonly #pools: IdentityPools;
  /** Requests under way, sockets that were upgraded, and configs that hold a lease. */
  #holders = 0;
  /** Requests under way, wherever they are: before a credential, in a pool, on the wire. */
  readonly #requests = new Set<Endable>();
  #retiring = false;
  #onLastLetGo: (() => void) | undefined;
  /** Why nothing goes out any more. */
  #closed: RequestError | undefined;
  #idleSince = 0;
  readonly #options: ConnectionOptions;
  readonly #end = new AbortController();

  constructor(
    { cluster, authorityFile, provider, impersonation = {} }: Destination,
    source: CredentialSource,
    proxy: ProxyServer | undefined,
    options: ConnectionOptions,
    log: ClusterLog,
  ) {
    this.cluster = cluster;
    this.impersonation = impersonation;
    this.provider = provider;
    this.source = source;
    const { origin, pathname } = new URL(cluster.server);
    this.origin = origin;
    this.basePath = pathname;
    this.#options = options;
    // The log is of the cluster that this was made for: others with the same server may share it.
    const target = { cluster, authorityFile, origin, proxy, impersonation, provider, ended: this.ended };
    this.#pools = new IdentityPools(target, options, log);
  }

  /** Aborted by `destroy()`. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  hold(): void {
    this.#holders += 1;
  }

  letGo(): void {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    this.#idleSince = this.#options.clock();
    if (!this.#retiring) return;
    this.retire();
    this.#onLastLetGo?.();
  }

  /** A request begins: it holds this connection, and ends with it. */
  begin(request: Endable): void {
    this.#requests.add(request);
    this.hold();
  }

  finished(request: Endable): void {
    this.#requests.delete(request);
    this.letGo();
  }

  /** A request has become a socket: it holds this connection until it closes, and ends with it. */
  keep(socket: Duplex): void {
    this.hold();
    keepUntilClosed(this, socket);
  }

  /** Milliseconds since the last use of this connection; 0 while it is in use. */
  idleFor(now: number): number {
    // After the clock was set back, that is not known any more: it begins again.
    if (now < this.#idleSince) this.#idleSince = now;
    return this.#holders > 0 ? 0 : now - this.#idleSince;
  }

  /** The pool of an identity: that of a client certificate, or without one. Throws a `RequestError` once this has been closed. */
  poolFor(keyPair: KeyPair | undefined): RequestPool {
    if (this.#closed) throw this.#closed;
    return this.#pools.poolFor(keyPair);
  }

  /** The pool of a request that brings its own credential. Throws a `RequestError` once this has been closed. */
  poolWithoutIdentity(): RequestPool {
    if (this.#closed) throw this.#closed;
    return this.#pools.withoutIdentity();
  }

  /** Opens one HTTP/1.1 connection, for a WebSocket, with the credential's certificate. */
  webSocketConnector({ keyPair }: Credential): buildConnector.connector {
    return heldBy(this, this.#pools.webSocketConnector(keyPair));
  }

  get observer(): Observer | undefined {
    return this.#options.observer;
  }

  get requestTimeoutMs(): number | undefined {
    return this.#options.requestTimeoutMs;
  }

  /** Whether a response says that the credential was refused. */
  isRejection(statusCode: number): boolean {
    return statusCode === 401 || (statusCode === 403 && this.#options.refreshOnForbidden);
  }

  /** After a 401: the credential to try next, or `undefined` where there is none. Never rejects. */
  refresh(
    rejected: Credential,
    statusCode: number,
    headers: IncomingHttpHeaders,
    log: ClusterLog,
  ): Promise<Credential | undefined> {
    const header = Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, [value].flat()]])),
    );
    const response = { code: statusCode, header };
    const refresh = this.source.afterRejection(rejected, this.#rejections, response, log).then((credential) => {
      const { origin, provider } = this;
      const refreshed = credential !== undefined;
      emit(this.#options.observer, 'rejection', { provider, origin, statusCode, refreshed });
      return credential;
    });
    this.#refresh = refresh;
    refresh.then(() => {
      if (this.#refresh === refresh) this.#refresh = undefined;
    });
    return refresh;
  }

  /** A refresh that a 401 has started: what cannot be replayed should not go out with the old credential. Never rejects. */
  get refreshing(): Promise<unknown> | undefined {
    return this.#refresh;
  }

  /** A replay was accepted: the refresh was of use. */
  accepted(): void {
    this.#rejections.accepted();
  }

  /** It has no references, and nothing in flight. */
  get drained(): boolean {
    return this.#holders === 0 && this.#pools.drained;
  }

  /**
   * Lets every request end by itself, and every socket after it; those that still wait for a credential too. `onLastLetGo` is
   * called when nobody can ask for a credential any more.
   */
  retire(onLastLetGo?: () => void): void {
    this.#retiring = true;
    this.#onLastLetGo ??= onLastLetGo;
    if (this.#holders === 0) onLastLetGo?.();
    this.#pools.retire();
  }

  /** Ends every request and every socket; nothing goes out afterwards. */
  destroy(): void {
    this.#closed ??= new RequestError('CONFIG_CLOSED', 'the CredentialProviders have been closed');
    this.#end.abort(this.#closed);
    for (const request of this.#requests) request.end(this.#closed);
    this.#pools.destroy(this.#closed);
  }
}
