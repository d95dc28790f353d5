/**
 * What the layers of a request share: each is a handler around a handler, as undici's interceptors are. The outermost handler guards
 * what the caller's own throws.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { ImpersonationHeaders } from '../../access/impersonation.ts';
import type { Segments } from '../../access/url-pattern.ts';
import { RequestError } from '../../errors/index.ts';
import { callCatching, reasonOf } from '../../observability/callbacks.ts';
import type { ClusterLog } from '../transport/cluster-log.ts';
import type { Connection } from '../transport/connection.ts';
import type { ClusterFacts } from '../transport/connection-errors.ts';
import type { Preview } from './previewed-writes.ts';
import type { ReplayableBody } from './replayable-body.ts';

/** A request on its way to the pool. */
export interface OutgoingRequest {
  readonly owner: RequestOwner;
  readonly options: Dispatcher.DispatchOptions;
  readonly body: ReplayableBody;
  readonly connection: Connection;
  /** Long-running in the sense of kube-apiserver: exempt from `requestTimeoutMs`. */
  readonly longRunning: boolean;
  readonly retry: Retry;
  /** How often it has been sent, with the attempt under way. */
  sent: number;
}

/**
 * Whether a request is sent again after a pause: `never` if its caller does that by itself. A watch of client-node's, which ends at
 * any error, is tried again `until` then (`performance.now()`).
 */
export type Retry = 'never' | 'usual' | { readonly until: number };

/** The config that a request belongs to. */
export interface RequestOwner {
  readonly cluster: ClusterFacts;
  readonly log: ClusterLog;
  /** Says why nothing may be sent at this moment; absent where everything may, always. */
  readonly fence: (() => Error | undefined) | undefined;
  readonly origin: string;
  /** The path of the server's URL, without a slash at its end. */
  readonly basePath: string;
  readonly impersonation: ImpersonationHeaders | undefined;
  /** The paths that `allowedServers` binds all requests to. */
  readonly pathBounds: readonly Segments[] | undefined;
  /** Collects what is written, none of which stays. */
  readonly preview: Preview | undefined;
  /** The first `length` characters of a text from the server or a proxy in between, redacted. */
  shown(text: string, length: number): string;
  /** Resolves after `ms` milliseconds, in which nothing is in flight. Rejects when the signal aborts, or the config ends. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

/** Sends a request. Calls `onRequestStart` before it returns, and later the other callbacks of the handler. */
export type Send = (request: OutgoingRequest, handler: Dispatcher.DispatchHandler) => void;

/** One concern of every request of a config: sends it on with `next`, or refuses it. */
export type Layer = (request: OutgoingRequest, handler: Dispatcher.DispatchHandler, next: Send) => void;

export type Controller = Dispatcher.DispatchController;

/**
 * The base of every layer: undici's handler for the inner layer, nearer the socket, and the controller of the outer one, nearer the caller. It
 * passes everything on; a layer overrides what it changes. It outlives the inner layers, so that a request can be sent again: what was
 * paused or aborted stays so.
 */
export class Relay implements Dispatcher.DispatchHandler, Controller {
  readonly #outer: Dispatcher.DispatchHandler;
  #inner: Controller | undefined;
  #started = false;
  #answered = false;
  #done = false;
  #paused = false;
  #reason: Error | null = null;

  constructor(outer: Dispatcher.DispatchHandler) {
    this.#outer = outer;
  }

  /** Refuses a request before anything is sent. */
  static refuse(outer: Dispatcher.DispatchHandler, error: Error): void {
    const relay = new Relay(outer);
    relay.start();
    relay.fail(error);
  }

  /** Must come before anything is awaited: a caller that gives up meanwhile needs something to abort. */
  protected start(): void {
    this.#started = true;
    this.#outer.onRequestStart?.(this, {});
  }

  /** The attempt under way is another one from now on: later events of this one are dropped. */
  protected detach(): Controller | undefined {
    const inner = this.#inner;
    this.#inner = undefined;
    return inner;
  }

  protected get inner(): Controller | undefined {
    return this.#inner;
  }

  /** The outer layer has seen the beginning of a response. */
  protected get answered(): boolean {
    return this.#answered;
  }

  /** Whether the request may be sent again: the outer layer has seen nothing of a response, and goes on waiting. */
  protected get undecided(): boolean {
    return !this.#answered && !this.#done && !this.aborted;
  }

  protected get done(): boolean {
    return this.#done;
  }

  // From the inner layer. What comes from an earlier attempt is dropped.

  #isCurrent(controller: Controller | undefined): boolean {
    return controller === this.#inner && !this.#done;
  }

  onRequestStart(controller: Controller): void {
    this.#inner = controller;
    if (this.#paused) controller.pause();
    if (!this.#started) this.start();
  }

  onResponseStart(controller: Controller, statusCode: number, headers: IncomingHttpHeaders, message?: string): void {
    if (this.#isCurrent(controller)) this.respond(statusCode, headers, message);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#isCurrent(controller)) this.data(chunk);
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    if (this.#isCurrent(controller)) this.complete(trailers);
  }

  onResponseError(controller: Controller | undefined, error: Error): void {
    if (this.#isCurrent(controller)) this.fail(error);
  }

  // To the outer layer.

  protected respond(statusCode: number, headers: IncomingHttpHeaders, message: string | undefined): void {
    // Early hints and the like come before the response.
    this.#answered ||= statusCode >= 200;
    this.#outer.onResponseStart?.(this, statusCode, headers, message);
  }

  protected data(chunk: Buffer): void {
    if (!this.#done) this.#outer.onResponseData?.(this, chunk);
  }

  protected complete(trailers: IncomingHttpHeaders): void {
    if (this.#done) return;
    this.#done = true;
    this.#outer.onResponseEnd?.(this, trailers);
  }

  protected fail(error: Error): void {
    if (this.#done) return;
    this.#done = true;
    this.#outer.onResponseError?.(this, error);
  }

  // Called by the outer layer, as its controller.

  /** Takes effect at once, also while nothing is under way inside. */
  abort(given?: Error): void {
    if (this.#done) return;
    // undici gives none if its caller destroys a body.
    const reason = given ?? new RequestError('REQUEST_ABORTED', 'the request was aborted');
    this.#reason ??= reason;
    this.#inner?.abort(reason);
    this.fail(reason);
  }

  pause(): void {
    this.#paused = true;
    this.#inner?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#inner?.resume();
  }

  get aborted(): boolean {
    return this.#reason !== null;
  }

  get paused(): boolean {
    return this.#paused;
  }

  get reason(): Error | null {
    return this.#reason;
  }

  get rawHeaders(): NonNullable<Controller['rawHeaders']> | null {
    return this.#inner?.rawHeaders ?? null;
  }
}

/** A request in a layer that looks at its response, or sends it again. */
export class RelayedRequest extends Relay {
  protected readonly request: OutgoingRequest;

  constructor(request: OutgoingRequest, handler: Dispatcher.DispatchHandler) {
    super(handler);
    this.request = request;
  }
}

/** The first of all: the caller's handler. If it throws, its own request ends, as with undici, and nothing else. */
export class SafeHandler extends Relay {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #log: ClusterLog;
  readonly #onEnd: (handler: SafeHandler) => void;

  /** `onEnd` is called before the caller's last callback. */
  constructor(
    handler: Dispatcher.DispatchHandler,
    log: ClusterLog,
    onEnd: (handler: SafeHandler) => void = () => undefined,
  ) {
    super(handler);
    this.#handler = handler;
    this.#log = log;
    this.#onEnd = onEnd;
  }

  /** Ends the request with its connection, or its config. */
  end(reason: Error): void {
    this.abort(reason instanceof RequestError ? reason.of(this.#log.cluster) : reason);
  }

  protected override start(): void {
    callCatching(() => super.start(), this.#abortWith);
  }

  protected override respond(statusCode: number, headers: IncomingHttpHeaders, message: string | undefined): void {
    callCatching(() => super.respond(statusCode, headers, message), this.#abortWith);
  }

  protected override data(chunk: Buffer): void {
    callCatching(() => super.data(chunk), this.#abortWith);
  }

  protected override complete(trailers: IncomingHttpHeaders): void {
    this.#onEnd(this);
    callCatching(
      () => super.complete(trailers),
      (thrown) => callCatching(() => this.#handler.onResponseError?.(this, toError(thrown)), this.#logThrown),
    );
  }

  protected override fail(error: Error): void {
    if (this.done) return;
    this.#onEnd(this);
    callCatching(() => super.fail(error), this.#logThrown);
  }

  readonly #abortWith = (thrown: unknown): void => this.abort(toError(thrown));

  readonly #logThrown = (thrown: unknown): void => {
    const message = `the handler of a request has thrown: ${reasonOf(thrown)}`;
    this.#log.problem('caller', { key: message, message });
  };
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new RequestError('REQUEST_ABORTED', 'a handler has thrown');
}
