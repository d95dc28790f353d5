/**
 * For client-node's Watch and the informers on it, which end at any error. A watch may end at any time, and goes on from its
 * last resourceVersion: so whatever breaks it is the end of the stream, and one that cannot be made is tried again.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { Dispatcher } from 'undici';
import { ConnectionError, CredentialsError, PluginError } from '../errors.ts';
import { printable } from '../printable.ts';
import type { AuthenticatedDispatcher } from './request/dispatcher.ts';
import { LastingController, type ResponseStart, type Upgrade } from './request/lasting-controller.ts';
import { isBrokenAnswer, type RequestRetries } from './request-retries.ts';
import { passingStatuses } from './statuses.ts';
import type { ClusterLog } from './transport/cluster-log.ts';

/** Milliseconds between tries, from the first to the longest; client-node's Watch gives up after 30 s and starts again. */
const firstPauseMs = 500;
const longestPauseMs = 8_000;

/** Milliseconds until a watch that cannot begin, and that nobody aborts, fails with the last error. */
export interface WatchPatience {
  /** One that goes on from a version, as an informer's does: client-node starts it again after 30 s, and ends it at any error. */
  readonly resumedMs: number;
  /** Any other: before client-node gives up after 30 s, and no longer says why. */
  readonly firstMs: number;
  /** Any other whose plugin or server says nothing: as long as it can be, and not longer than client-node's 30 s. */
  readonly silentMs: number;
}
export const defaultPatience: WatchPatience = { resumedMs: 60_000, firstMs: 20_000, silentMs: 28_000 };

/** Whether a URL asks for a watch. */
export function isWatch(url: string): boolean {
  return ['true', '1'].includes(URL.parse(url)?.searchParams.get('watch') ?? '');
}

/** Whether a watch goes on from a version that its client has seen. */
function isResumed(path: string): boolean {
  return /[?&]resourceVersion=[^&]*[1-9]/.test(path);
}

/** What may pass by itself before a watch has begun. */
function maySucceedLater(error: Error, resumed: boolean): boolean {
  // The plugin of a watch that has worked may be missing because it is being replaced, and the warning says what it lacks.
  if (resumed && error instanceof PluginError) return error.code !== 'PLUGIN_STOPPED';
  return isBrokenAnswer(error) || (error instanceof CredentialsError && error.retryable);
}

/** A dispatcher for watches on top of the authenticated one. */
export class WatchDispatcher extends Dispatcher {
  readonly #inner: AuthenticatedDispatcher;
  readonly #log: ClusterLog;
  readonly #retries: RequestRetries;
  readonly #patience: WatchPatience;

  constructor(inner: AuthenticatedDispatcher, log: ClusterLog, retries: RequestRetries, patience = defaultPatience) {
    super();
    this.#patience = patience;
    this.#inner = inner;
    this.#log = log;
    this.#retries = retries;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.#retries.watching(options.path);
    new WatchExchange(this.#inner, options, handler, this.#log, this.#patience).send();
    return true;
  }
}

/** One watch: the caller's controller stays the same from try to try. */
class WatchExchange extends LastingController implements Dispatcher.DispatchHandler, Dispatcher.DispatchController {
  readonly #inner: AuthenticatedDispatcher;
  readonly #options: Dispatcher.DispatchOptions;
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #log: ClusterLog;
  readonly #resumed: boolean;
  readonly #giveUpAt: number;
  /** Ends a watch that nobody answers, before client-node does. */
  readonly #silence: NodeJS.Timeout | undefined;
  /** While it waits for its next try. */
  #waiting: AbortController | undefined;
  #pauseMs = firstPauseMs;
  #started = false;
  #statusCode = 0;
  /** The status of a response that the caller does not see, because the watch is tried again. */
  #dropped = 0;
  #reason: Error | null = null;

  constructor(
    inner: AuthenticatedDispatcher,
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    log: ClusterLog,
    { firstMs, resumedMs, silentMs }: WatchPatience,
  ) {
    super();
    this.#resumed = isResumed(options.path);
    // An informer's is left to client-node: only after client-node's own TimeoutError it goes on.
    if (!this.#resumed) this.#silence = setTimeout(() => this.#tooSilent(silentMs), silentMs).unref();
    this.#giveUpAt = performance.now() + (this.#resumed ? resumedMs : firstMs);
    this.#inner = inner;
    this.#options = options;
    this.#handler = handler;
    this.#log = log;
  }

  send(): void {
    this.#waiting = undefined;
    this.#inner.dispatch(this.#options, this);
  }

  onRequestStart(wire: Dispatcher.DispatchController, context: object): void {
    this.beginsWith(wire);
    if (this.#started) return;
    this.#started = true;
    this.#handler.onRequestStart?.(this, context);
  }

  onRequestUpgrade(...[, statusCode, headers, socket]: Upgrade): void {
    this.#handler.onRequestUpgrade?.(this, statusCode, headers, socket);
  }

  onResponseStart(...[, statusCode, headers, statusMessage]: ResponseStart): void {
    // A 401 here has outlived a refresh: the issuer may be away.
    if ((statusCode === 401 || passingStatuses.has(statusCode)) && this.#timeLeft) {
      this.#dropped = statusCode;
      return;
    }
    // What comes before the answer, such as early hints, is none.
    if (statusCode >= 200) {
      clearTimeout(this.#silence);
      this.#statusCode = statusCode;
    }
    if (statusCode === 200) this.#log.watchBegan();
    this.#handler.onResponseStart?.(this, statusCode, headers, statusMessage);
  }

  onResponseData(_wire: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#dropped === 0) this.#handler.onResponseData?.(this, chunk);
  }

  onResponseEnd(_wire: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#dropped === 0) this.#handler.onResponseEnd?.(this, trailers);
    else {
      const message = `${this.#name()} could not begin and is tried again: the server answered ${this.#dropped}`;
      // A 401 has been warned about already.
      if (this.#dropped !== 401) this.#log.watchRefused(this.#dropped, message);
      this.#again(`status ${this.#dropped}`);
    }
  }

  onResponseError(_wire: Dispatcher.DispatchController, error: Error): void {
    if (this.#reason === null && this.#statusCode === 200 && !this.#inner.ended) {
      this.#log.debug(`${this.#name()} broke off (${error.message}); the watch ends`);
      this.#handler.onResponseEnd?.(this, {});
      return;
    }
    const again =
      this.#reason === null && this.#statusCode === 0 && this.#timeLeft && maySucceedLater(error, this.#resumed);
    if (again) this.#again(error.message);
    else this.#fail(error);
  }

  #fail(error: Error): void {
    clearTimeout(this.#silence);
    this.#handler.onResponseError?.(this, error);
  }

  #tooSilent(silentMs: number): void {
    const message =
      `${this.#name()} had no answer in ${silentMs / 1_000} s, and client-node waits for 30 s only ` +
      `(credential: ${this.#inner.state}): see why the plugin, the server or what stands between takes so long`;
    this.abort(new ConnectionError('RESPONSE_TIMEOUT', this.#log.cluster, message));
  }

  get #timeLeft(): boolean {
    return performance.now() + this.#pauseMs < this.#giveUpAt;
  }

  #again(why: string): void {
    this.beginsWith(undefined);
    this.#dropped = 0;
    // What it fails with has been warned about.
    this.#log.debug(`${this.#name()} could not begin and is tried again in ${this.#pauseMs} ms: ${why}`);
    this.#waiting = new AbortController();
    this.#inner
      .pause(this.#pauseMs, this.#waiting.signal)
      .then(
        () => this.send(),
        (reason: Error) => this.#fail(reason),
      )
      // There is nobody left whom a handler that throws could be told of.
      .catch(() => undefined);
    this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2);
  }

  /** For messages: without the query. */
  #name(): string {
    return `watch ${printable(this.#options.path.replace(/\?.*/s, ''), 1_024)}`;
  }

  abort(reason: Error): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    if (this.wire) this.wire.abort(reason);
    else if (this.#waiting) this.#waiting.abort(reason);
    else this.#fail(reason);
  }

  get aborted(): boolean {
    return this.#reason !== null;
  }

  get reason(): Error | null {
    return this.#reason;
  }
}
