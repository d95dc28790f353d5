/** The front door of a config's requests, and the list of the layers that they pass. */
import { Dispatcher } from 'undici';
import { type ImpersonationHeaders, impersonationHeaders } from '../../access/impersonation.ts';
import { type Segments, withoutLastSlashes } from '../../access/url-pattern.ts';
import { RequestError } from '../../errors/index.ts';
import type { Credential } from '../../exec/credential.ts';
import { redactBeginning } from '../../redaction/known-secrets.ts';
import { pause } from '../../util/abortable.ts';
import { ClusterLog } from '../transport/cluster-log.ts';
import type { Connection, Destination } from '../transport/connection.ts';
import { type ClusterFacts, toOwnError } from '../transport/connection-errors.ts';
import { type Connections, providersClosed } from '../transport/connections.ts';
import { authorize } from './authorize.ts';
import {
  type Layer,
  type OutgoingRequest,
  Relay,
  type RequestOwner,
  type Retry,
  SafeHandler,
  type Send,
} from './layer.ts';
import { bounds, isLongRunning } from './paths.ts';
import { previewWrites } from './preview.ts';
import type { Preview } from './previewed-writes.ts';
import { ReplayableBody } from './replayable-body.ts';
import { report } from './report.ts';
import { retryAfterPause } from './retry.ts';

/**
 * The way of a request, from the caller inwards. The response takes it back, from the last to the first. Innermost is `authorize`,
 * which handles a 401. It sends to the pools of the connection: `transport/pools.ts`.
 */
const layers: readonly Layer[] = [previewWrites, retryAfterPause, bounds, report];
const send = layers.reduceRight<Send>((next, layer) => (request, handler) => layer(request, handler, next), authorize);

/** The safety net for configs that are never closed. A connection must not reference a dispatcher, or that could never be collected. */
const abandoned = new FinalizationRegistry<Connection>((connection) => connection.removeReference());

/** An undici dispatcher that puts the cluster's credential on every request to the cluster's own origin. */
export class AuthenticatedDispatcher extends Dispatcher implements RequestOwner {
  readonly cluster: ClusterFacts;
  readonly log: ClusterLog;
  readonly #connections: Connections;
  readonly #destination: Destination;
  /** From the first request on. Stays after `close()`: requests that are under way go on. */
  #connection: Connection | undefined;
  readonly origin: string;
  readonly basePath: string;
  readonly impersonation: ImpersonationHeaders | undefined;
  readonly pathBounds: readonly Segments[] | undefined;
  #destroyed = false;
  /** Aborted by `close()` and `destroy()`. */
  readonly #closed = new AbortController();
  fence: (() => Error | undefined) | undefined;
  readonly preview: Preview | undefined;
  /** For callers that retry by themselves: nothing is sent again after a pause. */
  readonly withoutRetries: Dispatcher;

  constructor(connections: Connections, destination: Destination, preview?: Preview) {
    super();
    // undici's compose() calls them on a proxy, which has no private fields.
    this.close = this.close.bind(this);
    this.destroy = this.destroy.bind(this);
    const { origin, pathname } = new URL(destination.cluster.server);
    this.origin = origin;
    this.basePath = withoutLastSlashes(pathname);
    const { name, profile, cluster } = destination;
    const hasAuthority = cluster.certificateAuthorityData !== undefined;
    this.cluster = { name, profile, server: cluster.server, hasAuthority };
    this.#connections = connections;
    this.#destination = destination;
    this.log = new ClusterLog(this.cluster, destination.provider, connections.options, () => this.#secrets);
    this.impersonation = destination.impersonation && impersonationHeaders(destination.impersonation);
    this.pathBounds = destination.pathBounds;
    this.preview = preview;
    const dispatch: Dispatcher['dispatch'] = (options, handler) => this.#dispatch(options, handler, 'never');
    this.withoutRetries = Object.assign(new Dispatcher(), { dispatch });
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return this.#dispatch(options, handler, 'usual');
  }

  /** Sends a watch of client-node's, which would end at any error: retries until then (`performance.now()`) if it cannot begin. */
  watch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler, until: number): boolean {
    return this.#dispatch(options, handler, { until });
  }

  #dispatch(options: Dispatcher.DispatchOptions, given: Dispatcher.DispatchHandler, retry: Retry): boolean {
    if (isForeign(given)) return refuseForeign(given);
    let connection: Connection;
    try {
      connection = this.connection();
    } catch (error) {
      // The fence says why its config has been closed.
      Relay.refuse(new SafeHandler(given, this.log), this.fence?.() ?? this.toOwnError(error));
      return true;
    }
    const handler = new SafeHandler(given, this.log, () => {
      if (connection.finished(handler)) request.body.close();
    });
    const request: OutgoingRequest = {
      owner: this,
      options,
      body: new ReplayableBody(options.body, handler),
      connection,
      longRunning: isLongRunning(options, this.basePath),
      retry,
      sent: 1,
    };
    connection.begin(handler, this);
    send(request, handler);
    return true;
  }

  /** Our own error for what a request, or a run of the plugin, failed with. It goes to a caller, and into the log. */
  toOwnError(error: unknown): Error {
    const own = toOwnError(error instanceof Error ? error : new Error(String(error)), this.cluster);
    this.log.failed(own);
    return own;
  }

  /** The first `length` characters of a text from this server or a proxy in between, redacted. */
  shown(text: string, length: number, options?: { readonly isCut?: boolean }): string {
    return redactBeginning(text, length, this.#secrets, options);
  }

  /** The connection behind this dispatcher. Throws a `RequestError` when it has been closed, or the proxy is no URL. */
  connection(): Connection {
    const refusal = this.#refusal();
    if (refusal) throw refusal.of(this.cluster);
    if (this.#connection) return this.#connection;
    try {
      this.#connection = this.#connections.acquire(this.#destination);
    } catch (error) {
      throw this.toOwnError(error);
    }
    abandoned.register(this, this.#connection, this);
    return this.#connection;
  }

  /** Why requests can no longer be sent, or `undefined`. */
  #refusal(): RequestError | undefined {
    if (this.#closed.signal.aborted) return configClosed();
    if (this.#connections.closed) return new RequestError('CONFIG_CLOSED', providersClosed);
    const { isCurrent, provider } = this.#destination;
    if (isCurrent?.() === false) {
      const message = `the provider file has another provider ${provider} now, or none: call getConfig again`;
      return new RequestError('PROVIDER_CHANGED', message);
    }
    return undefined;
  }

  /** What the server has been sent, and must not be printed. */
  get #secrets(): readonly string[] {
    return this.#connection?.source.secrets ?? [];
  }

  /** A server has refused a credential that was handed out. Never rejects. */
  async reject(credential: Credential): Promise<void> {
    const connection = this.#refusal() ? undefined : this.#connection;
    if (!connection || (await connection.refresh(credential, 401, {}, this.log))) return;
    this.log.rejected(credential, 401, 'and there is no better one now');
  }

  /** Its state in words. */
  get state(): string {
    const refusal = this.#refusal();
    if (refusal) return refusal.code === 'CONFIG_CLOSED' ? 'closed' : 'its provider has changed';
    return this.#connection ? this.#connection.source.state : 'no request yet';
  }

  /** Gives the connection back. Requests under way go on; new ones are refused. */
  override close(callback?: () => void): Promise<void> & undefined {
    this.#release(configClosed());
    return settled(callback);
  }

  /** Ends the requests and WebSockets under way, too, with the error. */
  override destroy(
    error?: Error | null | (() => void),
    callback: (() => void) | undefined = typeof error === 'function' ? error : undefined,
  ): Promise<void> & undefined {
    const reason = error instanceof Error ? error : new RequestError('CONFIG_CLOSED', 'this config has been closed');
    this.#destroyed = true;
    this.#release(reason);
    this.#connection?.end(this, reason);
    return settled(callback);
  }

  #release(reason: Error): void {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort(reason);
    abandoned.unregister(this);
    this.#connection?.removeReference();
  }

  /** As in undici: requests in flight have ended. */
  get destroyed(): boolean {
    return this.#destroyed;
  }

  /** Closed, or destroyed, or the connection behind it: what breaks now was ended here. */
  get ended(): boolean {
    return this.#closed.signal.aborted || this.#connection?.ended.aborted === true;
  }

  pause(ms: number, signal: AbortSignal): Promise<void> {
    return pause(ms, AbortSignal.any([signal, this.#closed.signal]));
  }
}

function configClosed(): RequestError {
  const how = 'get a new one where this one came from (getConfig, fromKubeConfig, fromDefault)';
  return new RequestError('CONFIG_CLOSED', `this config has been closed: ${how}`);
}

/** What undici's overloads want: a promise if there is no callback. */
function settled(callback: (() => void) | undefined): Promise<void> & undefined {
  if (callback) queueMicrotask(callback);
  return (callback ? undefined : Promise.resolve()) as Promise<void> & undefined; // one of the two, by the overload
}

/** A handler of undici before version 8, such as that of the fetch of Node 24: it would wait for ever. */
interface ForeignHandler {
  readonly onError: (error: Error) => void;
}

export function isForeign(handler: object): handler is ForeignHandler {
  return !('onRequestStart' in handler) && 'onError' in handler && typeof handler.onError === 'function';
}

function refuseForeign(handler: ForeignHandler): boolean {
  const message =
    "the dispatcher of this config needs the fetch or request of undici 8: older versions, and Node's own fetch before Node 26, " +
    'cannot use it. Call config.fetch, or import fetch from the package undici';
  queueMicrotask(() => handler.onError(new RequestError('FOREIGN_HANDLER', message)));
  return true;
}
