import type { Duplex } from 'node:stream';
import { Dispatcher } from 'undici';
import { type Segments, staysBelow } from '../../access/path-bounds.ts';
import { RequestError } from '../../errors.ts';
import type { CredentialSupply } from '../../exec/credential-supply.ts';
import { printable } from '../../printable.ts';
import { redactBeginning } from '../../redaction/redact.ts';
import { ClusterLog } from '../transport/cluster-log.ts';
import type { Connection } from '../transport/connection.ts';
import { type ClusterFacts, toOwnError } from '../transport/connection-errors.ts';
import type { Connections } from '../transport/connections.ts';
import type { Destination } from '../transport/destination.ts';
import { Caller } from './caller.ts';
import { Exchange, type ExchangeOwner } from './exchange.ts';
import { pause } from './pause.ts';

export const providersClosed = 'the CredentialProviders have been closed: make new ones, and get the config from them';

/** One config's hold on a connection. Taken at its first request, given back by `close()` or the garbage collector. */
class Lease {
  readonly #connections: Connections;
  readonly #destination: Destination;
  /** It knows the lease, and never the dispatcher: connections keep it. */
  readonly log: ClusterLog;
  #connection: Connection | undefined;
  /** Stays after `close()`: what is under way is still told about. */
  #supply: CredentialSupply | undefined;
  #closed = false;

  constructor(connections: Connections, destination: Destination, cluster: ClusterFacts) {
    this.#connections = connections;
    this.#destination = destination;
    this.log = new ClusterLog(cluster, destination.provider, connections.log, () => this.secrets);
  }

  /** Why no request can use this lease any more, or `undefined`. */
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
    this.#supply = this.#connection.source;
    return this.#connection;
  }

  /** What the server has been sent, and must not be printed. */
  get secrets(): readonly string[] {
    return this.#supply?.secrets ?? [];
  }

  close(): void {
    this.#closed = true;
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection) this.#connections.release(connection);
  }
}

/** The safety net for configs that are never closed; it must not reach the dispatcher, or nothing would be collected. */
const abandoned = new FinalizationRegistry<Lease>((lease) => lease.close());

/** An undici dispatcher that puts the cluster's credential on every request to the cluster's own origin. */
export class AuthenticatedDispatcher extends Dispatcher {
  readonly #lease: Lease;
  readonly #origin: string;
  readonly #pathBounds: readonly Segments[] | undefined;
  readonly #cluster: ClusterFacts;
  /** What is said of this cluster. */
  readonly log: ClusterLog;
  /** Requests under way. */
  readonly #exchanges = new Set<Exchange>();
  /** Of WebSockets and other upgrades. */
  readonly #sockets = new Set<Duplex>();
  #destroyed = false;
  /** Aborted by `close()` and `destroy()`. */
  readonly #closed = new AbortController();
  /** Why nothing may be sent at this moment. */
  fence: () => Error | undefined = () => undefined;
  readonly #owner: ExchangeOwner = {
    fence: () => this.fence(),
    ended: (exchange) => this.#exchanges.delete(exchange),
    track: (socket) => this.track(socket),
  };

  constructor(connections: Connections, destination: Destination) {
    super();
    // undici's compose() calls them on a proxy, which has no private fields.
    this.close = this.close.bind(this);
    this.destroy = this.destroy.bind(this);
    this.#origin = new URL(destination.cluster.server).origin;
    const { name, profile, cluster } = destination;
    const hasAuthority = cluster.certificateAuthorityData !== undefined;
    this.#cluster = { name, profile, server: cluster.server, hasAuthority };
    this.#lease = new Lease(connections, destination, this.#cluster);
    this.log = this.#lease.log;
    this.#pathBounds = destination.pathBounds;
  }

  /** Our own error for what a request, or a run of the plugin, failed with. It goes to a caller, and into the log. */
  toOwnError(error: unknown): Error {
    const own = toOwnError(error instanceof Error ? error : new Error(String(error)), this.#cluster);
    this.log.failed(own);
    return own;
  }

  /** What may be shown of a text of this server, or of what stands between: its first `length` characters. */
  shown(text: string, length: number, options?: { readonly isCut?: boolean }): string {
    return redactBeginning(text, length, this.#lease.secrets, options);
  }

  /** Why no request may be sent to another origin, a redirect's target too. The refusal is counted and told. */
  originRefusal(origin: string): RequestError {
    // Without path and user: a redirect's target can hold secrets.
    const target = this.shown(originOf(origin), longestTarget);
    const only = `the credential and this connection are for ${this.#origin} only; see where the request, or a redirect, leads`;
    return this.#refusal('FOREIGN_ORIGIN', `a request to ${target} was refused: ${only}`, target);
  }

  /** Why no request may be sent to a path, a redirect's target too, or `undefined`. A refusal is counted and told. */
  pathRefusal(path: string): RequestError | undefined {
    if (!this.#pathBounds || staysBelow(this.#pathBounds, path)) return undefined;
    const bounds = this.#pathBounds.map((segments) => `${this.#origin}/${segments.join('/')}`).join(', ');
    const message =
      `a request to a path outside of ${bounds} was refused: allowedServers of its provider binds it to that; ` +
      'see where the request, or a redirect of the server, leads';
    return this.#refusal('PATH_NOT_ALLOWED', message, this.shown(path.replace(/[?#].*/s, ''), longestTarget));
  }

  #refusal(code: 'FOREIGN_ORIGIN' | 'PATH_NOT_ALLOWED', message: string, target: string): RequestError {
    const error = new RequestError(code, message).of(this.#cluster);
    this.log.refused(error, printable(target, longestTarget));
    return error;
  }

  /** The connection behind this dispatcher. Throws a `RequestError` when it has been closed, or the proxy is no URL. */
  connection(): Connection {
    if (this.#lease.ended) throw this.#lease.ended.of(this.#cluster);
    if (!this.#lease.taken) abandoned.register(this, this.#lease, this.#lease);
    try {
      return this.#lease.connection();
    } catch (error) {
      throw this.toOwnError(error);
    }
  }

  /** For people: what has become of it. */
  get state(): string {
    const { ended, taken } = this.#lease;
    if (ended) return ended.code === 'CONFIG_CLOSED' ? 'closed' : 'its provider has changed';
    return taken ? taken.source.state : 'no request yet';
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (isForeign(handler)) return refuseForeign(handler);
    const origin = options.origin === undefined ? this.#origin : String(options.origin);
    if (origin !== this.#origin && URL.parse(origin)?.origin !== this.#origin) {
      return refuse(handler, this.originRefusal(origin), this.log);
    }
    const refusal = this.fence() ?? this.pathRefusal(String(options.path));
    if (refusal) return refuse(handler, refusal, this.log);
    let exchange: Exchange;
    try {
      exchange = new Exchange(this.connection(), options, handler, this.#cluster, this.log, this.#owner);
    } catch (error) {
      const own = toOwnError(error instanceof Error ? error : new Error(String(error)), this.#cluster);
      return refuse(handler, own, this.log);
    }
    this.#exchanges.add(exchange);
    exchange.start();
    return true;
  }

  /** Gives the connection back. Requests under way go on; new ones are refused. */
  override close(callback?: () => void): Promise<void> & undefined {
    this.#release();
    return settled(callback);
  }

  /** Ends the requests and WebSockets under way, too, with the error. */
  override destroy(
    error?: Error | null | (() => void),
    callback: (() => void) | undefined = typeof error === 'function' ? error : undefined,
  ): Promise<void> & undefined {
    const reason = error instanceof Error ? error : new RequestError('CONFIG_CLOSED', 'this config has been closed');
    this.#destroyed = true;
    this.#closed.abort(reason);
    this.#release();
    for (const exchange of this.#exchanges) exchange.abort(reason);
    for (const socket of this.#sockets) socket.destroy();
    return settled(callback);
  }

  #release(): void {
    abandoned.unregister(this.#lease);
    this.#lease.close();
    this.#closed.abort(this.#lease.ended);
  }

  /** Closed, or destroyed, or the connection behind it: what breaks now was ended here. */
  get ended(): boolean {
    return this.#closed.signal.aborted || this.#lease.taken?.ended.aborted === true;
  }

  /**
   * Resolves after so many milliseconds, in which nothing is under way. Rejects when the signal, this dispatcher, or the connection
   * behind it ends: the next try could go nowhere.
   */
  pause(ms: number, signal?: AbortSignal): Promise<void> {
    return pause(ms, [signal, this.#closed.signal, this.#lease.taken?.ended]);
  }

  /** A socket of this config that is no request's: it ends with `destroy`. */
  track(socket: Duplex): void {
    if (this.#destroyed) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}

/** For messages. A URL of another scheme has no origin. */
function originOf(text: string): string {
  const url = URL.parse(text);
  if (!url) return 'another origin';
  return url.origin === 'null' ? url.protocol : url.origin;
}

/** What undici's overloads want: a promise where there is no callback. */
function settled(callback: (() => void) | undefined): Promise<void> & undefined {
  if (callback) queueMicrotask(callback);
  return (callback ? undefined : Promise.resolve()) as Promise<void> & undefined; // one of the two, by the overload
}

/** Of a refused target that is told, in characters, and then in bytes. */
const longestTarget = 1_024;

/** A handler of undici before version 8, such as that of Node's own fetch: it would wait for ever. */
interface ForeignHandler {
  readonly onError: (error: Error) => void;
}

function isForeign(handler: object): handler is ForeignHandler {
  return !('onRequestStart' in handler) && 'onError' in handler && typeof handler.onError === 'function';
}

function refuseForeign(handler: ForeignHandler): boolean {
  const message =
    "the dispatcher of this config needs the fetch or request of undici 8: Node's own fetch and older versions of undici " +
    'cannot use it. Call config.fetch, or import fetch from the package undici';
  queueMicrotask(() => handler.onError(new RequestError('FOREIGN_HANDLER', message)));
  return true;
}

/** Refuses a request before anything is sent. */
function refuse(handler: Dispatcher.DispatchHandler, error: Error, log: ClusterLog): boolean {
  let reason: Error | null = null;
  const controller: Dispatcher.DispatchController = {
    get aborted() {
      return reason !== null;
    },
    paused: false,
    get reason() {
      return reason;
    },
    rawHeaders: null,
    rawTrailers: null,
    pause: () => undefined,
    resume: () => undefined,
    abort: (given) => {
      if (reason) return;
      reason = given;
      caller.failed(given);
    },
  };
  const caller = new Caller(handler, controller, log);
  caller.started();
  controller.abort(error);
  return true;
}
