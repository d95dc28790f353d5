import type { buildConnector } from 'undici';
import type { ResolvedCluster } from '../../access/cluster.ts';
import { RequestError } from '../../errors/index.ts';
import type { KeyPair } from '../../exec/exec-credential.ts';
import { emit, type PoolChanged } from '../../observability/telemetry.ts';
import { printable } from '../../util/printable.ts';
import type { AuthorityFile } from './authority-file.ts';
import type { ClusterLog, LogOptions } from './cluster-log.ts';
import { createConnector } from './connector.ts';
import type { Impersonation } from './destination.ts';
import type { PoolOptions } from './pool.ts';
import type { ProxyServer } from './proxy.ts';
import { RequestPool } from './request-pool.ts';

/** Where the sockets lead. */
export interface PoolsTarget {
  readonly cluster: ResolvedCluster;
  /** Where its authority comes from, if from a file. */
  readonly authorityFile: AuthorityFile | undefined;
  readonly origin: string;
  readonly proxy: ProxyServer | undefined;
  readonly impersonation: Impersonation;
  /** The access type, for events. */
  readonly provider: string;
  /** Aborted: what is being opened is given up. */
  readonly ended: AbortSignal;
}

export interface IdentityPoolsOptions extends Pick<LogOptions, 'logger' | 'observer'> {
  /** Milliseconds until a connection that does not stand is given up. */
  readonly connectTimeoutMs: number;
  /** Milliseconds that the streams of an earlier certificate may go on. */
  readonly drainTimeoutMs: number;
  /** For tests: when a peer that says nothing is pinged, and given up. */
  readonly liveness?: Pick<PoolOptions, 'pingIntervalMs' | 'silenceMs'>;
}

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
  readonly #options: IdentityPoolsOptions;
  readonly #log: ClusterLog;
  /** For tokens, and for requests that bring their own credential. */
  #bare: RequestPool | undefined;
  #certified: { readonly identity: string; readonly pool: RequestPool } | undefined;
  /** Pools of earlier certificates, while their last requests go on. */
  readonly #retired = new Set<RequestPool>();

  constructor(target: PoolsTarget, options: IdentityPoolsOptions, log: ClusterLog) {
    this.#target = target;
    this.#cluster = target.cluster;
    this.#options = options;
    this.#log = log;
  }

  /**
   * The pool of an identity, which replaces the one before. Streams of an earlier certificate end after a while, whatever has taken
   * its place; those of a token go on.
   */
  poolFor(keyPair: KeyPair | undefined): RequestPool {
    this.#followAuthority();
    const before = this.#certified;
    if (before && before.identity === keyPair?.identity) return before.pool;
    if (before) this.#retire(before.pool, true);
    this.#certified = keyPair && { identity: keyPair.identity, pool: this.#create(keyPair) };
    return this.#certified?.pool ?? this.withoutIdentity();
  }

  /** The pool without a client certificate. It replaces nothing. */
  withoutIdentity(): RequestPool {
    this.#followAuthority();
    this.#bare ??= this.#create(undefined);
    return this.#bare;
  }

  /** Opens sockets that are in no pool, for HTTP/1.1. */
  webSocketConnector(keyPair: KeyPair | undefined): buildConnector.connector {
    this.#followAuthority();
    return this.#connector(keyPair, false);
  }

  /** No request of an earlier pool goes on. */
  get drained(): boolean {
    return this.#retired.size === 0;
  }

  /** Lets the requests of every pool end by themselves. */
  retire(): void {
    if (this.#bare) this.#retire(this.#bare, false);
    if (this.#certified) this.#retire(this.#certified.pool, true);
    this.#bare = undefined;
    this.#certified = undefined;
  }

  /** Ends every request and every socket. */
  destroy(error: Error): void {
    const pools = [this.#bare, this.#certified?.pool, ...this.#retired];
    if (this.#bare) this.#tell('closed', false);
    if (this.#certified) this.#tell('closed', true);
    this.#retired.clear();
    this.#bare = undefined;
    this.#certified = undefined;
    for (const pool of pools) pool?.destroy(error);
  }

  /** A new authority gets new pools: what stands was verified with the old one, and goes on. */
  #followAuthority(): void {
    const certificateAuthorityData = this.#target.authorityFile?.current(this.#log);
    if (certificateAuthorityData === undefined || certificateAuthorityData === this.#cluster.certificateAuthorityData)
      return;
    this.#cluster = { ...this.#cluster, certificateAuthorityData };
    this.#log.debug('the certificate authority has changed: new connections trust the new one');
    this.retire();
  }

  #create(keyPair: KeyPair | undefined): RequestPool {
    const { impersonation, origin } = this.#target;
    // undici joins repeated headers on HTTP/2, and two groups are not one with a comma in its name.
    const repeated = Object.values(impersonation).some((values) => values.length > 1);
    const connector = (allowH2: boolean) => this.#logged(this.#connector(keyPair, allowH2));
    this.#tell('opened', keyPair !== undefined);
    const { connectTimeoutMs, liveness } = this.#options;
    return new RequestPool(origin, connector, { allowH2: !repeated, connectTimeoutMs, ...liveness });
  }

  #connector(keyPair: KeyPair | undefined, allowH2: boolean): buildConnector.connector {
    const { proxy, ended: signal } = this.#target;
    const timeoutMs = this.#options.connectTimeoutMs;
    return createConnector(this.#cluster, keyPair, proxy, { allowH2, signal, timeoutMs });
  }

  /** Lets a pool's requests end by themselves, for a while. */
  #retire(pool: RequestPool, hasCertificate: boolean): void {
    this.#retired.add(pool);
    this.#tell('retired', hasCertificate);
    const tooLong = () =>
      pool.destroy(
        new RequestError('CONFIG_CLOSED', 'its connection was replaced, and its time to end is over: send it again'),
      );
    const timer = setTimeout(tooLong, this.#options.drainTimeoutMs).unref();
    pool.retire().then(() => {
      clearTimeout(timer);
      this.#retired.delete(pool);
      this.#tell('closed', hasCertificate);
    });
  }

  #tell(change: PoolChanged['change'], hasCertificate: boolean): void {
    const { provider, origin } = this.#target;
    emit(this.#options.observer, 'pool', { provider, origin, change, hasCertificate });
    this.#log.debug(
      `a pool of connections ${hasCertificate ? 'with a client certificate ' : ''}${poolChanges[change]}`,
    );
  }

  /** Reports each socket that is opened or closed. */
  #logged(connect: buildConnector.connector): buildConnector.connector {
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
