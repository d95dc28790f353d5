/**
 * For client-node's Watch and the informers on it, which end at any error. A watch may end at any time, and goes on from its
 * last resourceVersion: so a connection that breaks is the end of the stream, and one that cannot be made is tried again.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import { Dispatcher } from 'undici';
import { ConnectionError, CredentialsError, PluginError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { RequestRetries } from './request-retries.ts';
import { passingStatuses } from './statuses.ts';

/** Milliseconds between tries, from the first to the longest; client-node's Watch gives up after 30 s and starts again. */
const firstPauseMs = 500;
const longestPauseMs = 8_000;
/** Milliseconds until a watch that nobody aborts fails with the last error. */
const longestTryMs = 60_000;

/** Whether a URL asks for a watch. */
export function isWatch(url: string): boolean {
  return ['true', '1'].includes(URL.parse(url)?.searchParams.get('watch') ?? '');
}

/** What may pass by itself before a watch has begun. */
function maySucceedLater(error: Error): boolean {
  // A plugin that is missing may be installed meanwhile, and the warning says what it lacks.
  if (error instanceof PluginError) return error.code !== 'PLUGIN_STOPPED';
  return error instanceof CredentialsError && error.retryable;
}

/** A dispatcher for watches on top of the authenticated one. */
export class WatchDispatcher extends Dispatcher {
  readonly #inner: Dispatcher;
  readonly #logger: Logger;

  readonly #retries: RequestRetries;

  constructor(inner: Dispatcher, logger: Logger, retries: RequestRetries) {
    super();
    this.#inner = inner;
    this.#logger = logger;
    this.#retries = retries;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.#retries.watching(options.path);
    new WatchExchange(this.#inner, options, handler, this.#logger).send();
    return true;
  }
}

/** One watch: the caller's controller stays the same from try to try. */
class WatchExchange implements Dispatcher.DispatchHandler, Dispatcher.DispatchController {
  readonly #inner: Dispatcher;
  readonly #options: Dispatcher.DispatchOptions;
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #logger: Logger;
  readonly #giveUpAt = performance.now() + longestTryMs;
  #wire: Dispatcher.DispatchController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = firstPauseMs;
  #started = false;
  #statusCode = 0;
  /** The status of a response that the caller does not see, because the watch is tried again. */
  #dropped = 0;
  #paused = false;
  #reason: Error | null = null;

  constructor(
    inner: Dispatcher,
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    logger: Logger,
  ) {
    this.#inner = inner;
    this.#options = options;
    this.#handler = handler;
    this.#logger = logger;
  }

  send(): void {
    this.#timer = undefined;
    this.#inner.dispatch(this.#options, this);
  }

  onRequestStart(wire: Dispatcher.DispatchController, context: object): void {
    this.#wire = wire;
    if (this.#paused) wire.pause();
    if (this.#started) return;
    this.#started = true;
    this.#handler.onRequestStart?.(this, context);
  }

  onRequestUpgrade(
    _wire: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    this.#handler.onRequestUpgrade?.(this, statusCode, headers, socket);
  }

  onResponseStart(
    _wire: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    // A 401 here has outlived a refresh: the issuer may be away.
    if ((statusCode === 401 || passingStatuses.has(statusCode)) && this.#timeLeft) {
      this.#dropped = statusCode;
      return;
    }
    this.#statusCode = statusCode;
    this.#handler.onResponseStart?.(this, statusCode, headers, statusMessage);
  }

  onResponseData(_wire: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#dropped === 0) this.#handler.onResponseData?.(this, chunk);
  }

  onResponseEnd(_wire: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#dropped === 0) this.#handler.onResponseEnd?.(this, trailers);
    else this.#again(`status ${this.#dropped}`);
  }

  onResponseError(_wire: Dispatcher.DispatchController, error: Error): void {
    if (this.#reason === null && this.#statusCode === 200 && error instanceof ConnectionError) {
      this.#logger.debug?.(
        { origin: String(this.#options.origin) },
        `${this.#name()} broke off (${error.message}); the watch ends`,
      );
      this.#handler.onResponseEnd?.(this, {});
      return;
    }
    const again = this.#reason === null && this.#statusCode === 0 && this.#timeLeft && maySucceedLater(error);
    if (again) this.#again(error.message);
    else this.#handler.onResponseError?.(this, error);
  }

  get #timeLeft(): boolean {
    return performance.now() + this.#pauseMs < this.#giveUpAt;
  }

  #again(why: string): void {
    this.#wire = undefined;
    this.#dropped = 0;
    this.#logger.warn(
      { origin: String(this.#options.origin) },
      `${this.#name()} could not begin and is tried again: ${why}`,
    );
    this.#timer = setTimeout(() => this.send(), this.#pauseMs);
    this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2);
  }

  /** For messages: without the query. */
  #name(): string {
    return `watch ${String(this.#options.origin)}${this.#options.path.replace(/\?.*/s, '')}`;
  }

  pause(): void {
    this.#paused = true;
    this.#wire?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#wire?.resume();
  }

  abort(reason: Error): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    clearTimeout(this.#timer);
    if (this.#wire) this.#wire.abort(reason);
    else this.#handler.onResponseError?.(this, reason);
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

  get rawHeaders(): (Dispatcher.DispatchController['rawHeaders'] & {}) | null {
    return this.#wire?.rawHeaders ?? null;
  }

  get rawTrailers(): (Dispatcher.DispatchController['rawTrailers'] & {}) | null {
    return this.#wire?.rawTrailers ?? null;
  }
}
