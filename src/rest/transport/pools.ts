/** The sockets of one cluster: a pair of pools for each client certificate, and the one rule which of them a request uses. */
import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { ResolvedCluster } from '../../access/cluster.ts';
import { RequestError } from '../../errors/index.ts';
import type { Credential, KeyPair } from '../../exec/credential.ts';
import { emit, type PoolChanged } from '../../observability/telemetry.ts';
import type { ClusterLog, LogOptions } from './cluster-log.ts';
import { type Connector, createConnector } from './connector.ts';
import { Pool } from './pool.ts';
import type { ProxyServer } from './proxy.ts';
import { type AuthorityFile, clusterContext } from './trust.ts';
import {
  type PooledRequest,
  type PoolOptions,
  poolDefaults,
  repeatedHeader,
  type WireRequest,
} from './wire-request.ts';

/** Where the sockets lead. */
interface PoolsTarget {
  readonly cluster: ResolvedCluster;
  readonly authorityFile?: AuthorityFile | undefined;
  /** The access type. */
  readonly provider: string;
  readonly origin: string;
  readonly proxy: ProxyServer | undefined;
  /** Aborted: nothing goes out any more, and connections that are being opened are given up. */
  readonly ended: AbortSignal;
}

export interface PoolsOptions {
  /** Milliseconds that a connection may take to open. */
  readonly connectTimeoutMs: number;
  /** Milliseconds that the streams of an earlier certificate may go on. */
  readonly drainTimeoutMs: number;
  /** Milliseconds for a request that is not long-running. */
  readonly requestTimeoutMs?: number | undefined;
  /** For tests: when a silent peer is pinged, and given up, and when an idle socket is closed. */
  readonly liveness?: Partial<PoolOptions>;
}

/** The pools of one client certificate. */
interface Pair {
  readonly short: Pool;
  readonly longRunning: Pool;
  readonly hasCertificate: boolean;
}

/** The key of the pools without a client certificate. */
const noCertificate = '';

/** What the TLS alert of a server that speaks only HTTP/2 becomes in Node. */
const noApplicationProtocol = 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL';

/**
 * Long-running requests use HTTP/2, where a hundred share a connection and pings detect a dead peer. All others use HTTP/1.1: it
 * takes Node a third less CPU, a request is written in the event-loop turn in which its fence was asked, and a body that is given
 * up costs one socket and not the connection of everybody else. A server that speaks only HTTP/2 gets everything over it.
 *
 * A new certificate gets new pools, and so a new TLS state (a resumed session would keep the old identity); the old ones close when
 * their requests have ended. A new token needs neither. A new authority replaces all of them.
 */
export class Pools {
  readonly #target: PoolsTarget;
  /** With its current authority. */
  #cluster: ResolvedCluster;
  readonly #options: PoolsOptions & LogOptions;
  readonly #log: ClusterLog;
  /** By identity: one for tokens and for requests that bring their own credential, one for the current certificate. */
  readonly #pairs = new Map<string, Pair>();
  /** Those of earlier certificates, while their last requests go on. */
  readonly #retired = new Set<Pair>();
  /** The server has refused HTTP/1.1. */
  #onlyH2 = false;

  constructor(target: PoolsTarget, options: PoolsOptions & LogOptions, log: ClusterLog) {
    this.#target = target;
    this.#cluster = target.cluster;
    this.#options = options;
    this.#log = log;
  }

  /**
   * Sends a request, at once if there is a socket for it. The request is notified of its outcome. A credential replaces the certificate
   * before, whose streams end after a while; those of a token go on. A request with a credential of its own replaces nothing. Throws
   * the reason once the connection has ended.
   */
  send(options: WireRequest, request: PooledRequest, credential: Pick<Credential, 'keyPair'> | undefined): void {
    this.#target.ended.throwIfAborted();
    this.#followAuthority();
    const keyPair = credential?.keyPair;
    const current = keyPair?.identity ?? noCertificate;
    if (credential)
      for (const identity of this.#pairs.keys())
        if (identity !== noCertificate && identity !== current) this.#retire(identity);
    const { short, longRunning } = this.#pairs.get(current) ?? this.#create(keyPair);
    const pool = request.longRunning && repeatedHeader(options) === undefined ? longRunning : short;
    pool.send(options, request);
  }

  /** Takes a request back that has not been sent yet. */
  forget(request: PooledRequest): void {
    for (const pool of this.#all()) pool.forget(request);
  }

  *#all(): Generator<Pool> {
    for (const pairs of [this.#pairs.values(), this.#retired])
      for (const { short, longRunning } of pairs) yield* [short, longRunning];
  }

  /** Opens a socket that is in no pool, for HTTP/1.1. */
  openForWebSocket(keyPair: KeyPair | undefined): Promise<Socket> {
    this.#followAuthority();
    return this.#connector(clusterContext(this.#cluster, keyPair), false)();
  }

  /** Lets every request end by itself, and every socket after it. */
  retire(): void {
    for (const identity of this.#pairs.keys()) this.#retire(identity);
  }

  /** Ends every request and every socket. */
  destroy(error: Error): void {
    const pools = [...this.#all()];
    for (const { hasCertificate } of this.#pairs.values()) this.#report('closed', hasCertificate);
    this.#pairs.clear();
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

  #create(keyPair: KeyPair | undefined): Pair {
    const { origin } = this.#target;
    const { connectTimeoutMs, requestTimeoutMs = 0, liveness } = this.#options;
    // Who allows a request more time than API servers take gets it.
    const responseTimeoutMs = Math.max(poolDefaults.responseTimeoutMs, requestTimeoutMs);
    const options = { ...poolDefaults, connectTimeoutMs, responseTimeoutMs, ...liveness };
    const context = clusterContext(this.#cluster, keyPair);
    const h1 = this.#connector(context, false);
    const h2 = this.#connector(context, true);
    const pair: Pair = {
      short: new Pool(origin, this.#preferH1(h1, h2), options, 'short'),
      longRunning: new Pool(origin, h2, options, 'any'),
      hasCertificate: keyPair !== undefined,
    };
    this.#pairs.set(keyPair?.identity ?? noCertificate, pair);
    this.#report('opened', pair.hasCertificate);
    return pair;
  }

  /** Connects with HTTP/1.1, or, to a server that refuses it, with HTTP/2. */
  #preferH1(h1: Connector, h2: Connector): Connector {
    return () => {
      if (this.#onlyH2) return h2();
      return h1().catch((error: Error) => {
        if (Reflect.get(error, 'code') !== noApplicationProtocol) throw error;
        this.#onlyH2 = true;
        return h2();
      });
    };
  }

  #connector(context: () => SecureContext, allowH2: boolean): Connector {
    const { proxy, ended: signal } = this.#target;
    const timeoutMs = this.#options.connectTimeoutMs;
    return createConnector(this.#cluster, proxy, { allowH2, context, signal, timeoutMs });
  }

  /** Lets a pair's requests end by themselves, for a while. */
  #retire(identity: string): void {
    const pair = this.#pairs.get(identity);
    if (!pair) return;
    const { short, longRunning, hasCertificate } = pair;
    this.#pairs.delete(identity);
    this.#retired.add(pair);
    this.#report('retired', hasCertificate);
    const tooLong = () => {
      const message = 'its connection was replaced, and its time to end is over: send it again';
      for (const pool of [short, longRunning]) pool.destroy(new RequestError('CONFIG_CLOSED', message));
    };
    const timer = setTimeout(tooLong, this.#options.drainTimeoutMs).unref();
    Promise.all([short.retire(), longRunning.retire()]).then(() => {
      clearTimeout(timer);
      this.#retired.delete(pair);
      this.#report('closed', hasCertificate);
    });
  }

  #report(change: PoolChanged['change'], hasCertificate: boolean): void {
    const { provider, origin } = this.#target;
    emit(this.#options.observer, 'pool', { provider, origin, change, hasCertificate });
    this.#log.debug(`a pool of connections ${hasCertificate ? 'with a client certificate ' : ''}was ${change}`);
  }
}
