import type { ResolvedCluster } from '../../access/cluster.ts';
import { RequestError } from '../../errors/index.ts';
import type { KeyPair } from '../../exec/credential.ts';
import { emit, type PoolChanged } from '../../observability/telemetry.ts';
import { printable } from '../../util/printable.ts';
import type { ClusterLog, LogOptions } from './cluster-log.ts';
import { type Connector, createConnector } from './connector.ts';
import type { Destination } from './destination.ts';
import { type PoolOptions, poolDefaults } from './pooled-request.ts';
import type { ProxyServer } from './proxy.ts';
import { RequestPool } from './request-pool.ts';

/** Where the sockets lead. */
export interface PoolsTarget extends Pick<Destination, 'cluster' | 'authorityFile' | 'provider'> {
  readonly origin: string;
  readonly proxy: ProxyServer | undefined;
  /** Aborted: connections that are being opened are given up. */
  readonly ended: AbortSignal;
}

export interface IdentityPoolsOptions {
  /** Milliseconds that a connection may take to open. */
  readonly connectTimeoutMs: number;
  /** Milliseconds that the streams of an earlier certificate may go on. */
  readonly drainTimeoutMs: number;
  /** Milliseconds for a request that is not long-running. */
  readonly requestTimeoutMs?: number | undefined;
  /** For tests: when a silent peer is pinged, and given up. */
  readonly liveness?: Partial<Pick<PoolOptions, 'pingIntervalMs' | 'silenceMs' | 'responseTimeoutMs'>>;
}

/** The key of the pool without a client certificate. */
const noCertificate = '';

const poolChanges: Readonly<Record<PoolChanged['change'], string>> = {
  opened: 'was opened',
  retired: 'takes no more requests, and closes when those under way have ended',
  closed: 'was closed',
};

/**
 * The pools of one cluster, one for each client certificate. A new certificate gets a new pool, and so a new TLS state (a resumed
 * session would keep the old identity); the old pool closes when its requests have ended. A new token needs neither. A new
 * authority replaces all of them.
 */
export class IdentityPools {
  readonly #target: PoolsTarget;
  /** With its current authority. */
  #cluster: ResolvedCluster;
  readonly #options: IdentityPoolsOptions & LogOptions;
  readonly #log: ClusterLog;
  /** By identity: one for tokens and for requests that bring their own credential, one for the current certificate. */
  readonly #pools = new Map<string, RequestPool>();
  /** Pools of earlier certificates, while their last requests go on. */
  readonly #retired = new Set<RequestPool>();

  constructor(target: PoolsTarget, options: IdentityPoolsOptions & LogOptions, log: ClusterLog) {
    this.#target = target;
    this.#cluster = target.cluster;
    this.#options = options;
    this.#log = log;
  }

  /** The pool of an identity. It replaces that of the certificate before, whose streams end after a while; those of a token go on. */
  poolFor(keyPair: KeyPair | undefined): RequestPool {
    this.#followAuthority();
    const current = keyPair?.identity ?? noCertificate;
    for (const identity of this.#pools.keys())
      if (identity !== noCertificate && identity !== current) this.#retire(identity);
    return this.#pools.get(current) ?? this.#create(keyPair);
  }

  /** The pool without a client certificate. It replaces nothing. */
  withoutIdentity(): RequestPool {
    this.#followAuthority();
    return this.#pools.get(noCertificate) ?? this.#create(undefined);
  }

  /** Opens sockets that are in no pool, for HTTP/1.1. */
  webSocketConnector(keyPair: KeyPair | undefined): Connector {
    this.#followAuthority();
    return this.#connector(keyPair, false);
  }

  /** Lets the requests of every pool end by themselves. */
  retire(): void {
    for (const identity of this.#pools.keys()) this.#retire(identity);
  }

  /** Ends every request and every socket. */
  destroy(error: Error): void {
    const pools = [...this.#pools.values(), ...this.#retired];
    for (const identity of this.#pools.keys()) this.#report('closed', identity !== noCertificate);
    this.#pools.clear();
    for (const pool of pools) pool.destroy(error);
  }

  /** A new authority gets new pools. Open connections were verified with the old one, and go on. */
  #followAuthority(): void {
    const certificateAuthorityData = this.#target.authorityFile?.current(this.#log);
    if (certificateAuthorityData === undefined || certificateAuthorityData === this.#cluster.certificateAuthorityData)
      return;
    this.#cluster = { ...this.#cluster, certificateAuthorityData };
    this.#log.debug('the certificate authority has changed: new connections trust the new one');
    this.retire();
  }

  #create(keyPair: KeyPair | undefined): RequestPool {
    const { origin } = this.#target;
    const connector = (allowH2: boolean) => this.#logged(this.#connector(keyPair, allowH2));
    const { connectTimeoutMs, requestTimeoutMs = 0, liveness } = this.#options;
    // Who allows a request more time than API servers take gets it.
    const responseTimeoutMs = Math.max(poolDefaults.responseTimeoutMs, requestTimeoutMs);
    const pool = new RequestPool(origin, connector, { connectTimeoutMs, responseTimeoutMs, ...liveness });
    this.#pools.set(keyPair?.identity ?? noCertificate, pool);
    this.#report('opened', keyPair !== undefined);
    return pool;
  }

  #connector(keyPair: KeyPair | undefined, allowH2: boolean): Connector {
    const { proxy, ended: signal } = this.#target;
    const timeoutMs = this.#options.connectTimeoutMs;
    return createConnector(this.#cluster, keyPair, proxy, { allowH2, signal, timeoutMs });
  }

  /** Lets a pool's requests end by themselves, for a while. */
  #retire(identity: string): void {
    const pool = this.#pools.get(identity);
    if (!pool) return;
    const hasCertificate = identity !== noCertificate;
    this.#pools.delete(identity);
    this.#retired.add(pool);
    this.#report('retired', hasCertificate);
    const tooLong = () =>
      pool.destroy(
        new RequestError('CONFIG_CLOSED', 'its connection was replaced, and its time to end is over: send it again'),
      );
    const timer = setTimeout(tooLong, this.#options.drainTimeoutMs).unref();
    pool.retire().then(() => {
      clearTimeout(timer);
      this.#retired.delete(pool);
      this.#report('closed', hasCertificate);
    });
  }

  #report(change: PoolChanged['change'], hasCertificate: boolean): void {
    const { provider, origin } = this.#target;
    emit(this.#options.observer, 'pool', { provider, origin, change, hasCertificate });
    this.#log.debug(
      `a pool of connections ${hasCertificate ? 'with a client certificate ' : ''}${poolChanges[change]}`,
    );
  }

  /** Reports each socket that is opened or closed. */
  #logged(connect: Connector): Connector {
    if (!this.#options.logger.debug) return connect;
    const { proxy } = this.#target;
    return (options, callback) =>
      connect(options, (...result) => {
        const [error, socket] = result;
        if (socket) {
          this.#log.debug(`a connection was opened${proxy ? ` through proxy ${proxy}` : ''}`);
          socket.once('close', () => this.#log.debug('a connection was closed'));
        } else {
          this.#log.debug(`a connection could not be opened: ${printable(String(error?.message), 1_024)}`);
        }
        callback(...result);
      });
  }
}
