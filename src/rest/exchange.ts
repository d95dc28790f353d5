import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { RequestError } from '../errors.ts';
import type { Credential } from '../exec/exec-credential.ts';
import { type Connection, isGoAway } from './connection.ts';
import { hasHeader, withHeaders } from './headers.ts';
import { ReplayableBody } from './replayable-body.ts';

/** The longest body of a 401 that is held while the credential is refreshed, in bytes. */
const heldLimit = 256 * 1024;

type RawHeaders = NonNullable<Dispatcher.DispatchController['rawHeaders']> | null;

/** A 401 that the caller gets if no better credential comes. */
interface HeldResponse {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly statusMessage: string | undefined;
  readonly rawHeaders: RawHeaders;
  readonly chunks: Buffer[];
  size: number;
  trailers: IncomingHttpHeaders;
  ended: boolean;
}

/**
 * One request on its way. Towards undici it is the handler; towards the caller it is the one controller that stays the
 * same while the plugin runs, while the request is on the wire, and when it is replayed after a 401.
 */
export class Exchange implements Dispatcher.DispatchHandler, Dispatcher.DispatchController {
  readonly #connection: Connection;
  readonly #options: Dispatcher.DispatchOptions;
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #body: ReplayableBody;
  #wire: Dispatcher.DispatchController | undefined;
  #credential: Credential | undefined;
  /** True once the request goes out a second time because of a 401. */
  #replaying = false;
  /** True once the body has to come from what was kept of it. */
  #resend = false;
  /** How often the request may still go out again because the server closes its connection. */
  #retries = 5;
  /** True once the caller has seen the beginning of a response. */
  #answered = false;
  #held: HeldResponse | undefined;
  /** `undefined` until the refresh after a 401 has ended; `null` where it brought nothing better. */
  #refreshed: Credential | null | undefined;
  #delivering = false;
  #done = false;
  #paused = false;
  #reason: Error | null = null;

  constructor(connection: Connection, options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
    this.#connection = connection;
    this.#options = options;
    this.#handler = handler;
    this.#body = new ReplayableBody(options.body);
    connection.hold();
  }

  /** Sends the request, at once where there is a credential. */
  start(): void {
    // Before the plugin runs: a caller who gives up meanwhile has something to say it to.
    this.#handler.onRequestStart?.(this, {});
    if (this.#done) return;
    // Static credentials win: such a request passes untouched, and runs no plugin.
    if (hasHeader(this.#options.headers, 'authorization')) {
      this.#send(undefined);
      return;
    }
    const credential = this.#connection.source.get();
    if (credential instanceof Promise) {
      credential.then(
        (value) => this.#send(value),
        (error: Error) => this.#fail(error),
      );
    } else {
      this.#send(credential);
    }
  }

  #send(credential: Credential | undefined): void {
    if (this.#done) return;
    this.#credential = credential;
    const authorization = credential?.authorization;
    const ours: Record<string, string | readonly string[]> = authorization === undefined ? {} : { authorization };
    // A caller who impersonates somebody is not overruled.
    if (!hasHeader(this.#options.headers, 'impersonate-user')) Object.assign(ours, this.#connection.impersonation);
    if (this.#connection.cluster.disableCompression) ours['accept-encoding'] = 'identity';
    const headers = withHeaders(this.#options.headers, ours);
    const body = this.#resend ? this.#body.again() : this.#body.first();
    try {
      const pool = credential ? this.#connection.poolFor(credential) : this.#connection.barePool;
      pool.dispatch({ ...this.#options, headers, body }, this);
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error('the request could not be sent'));
    }
  }

  // What undici tells us.

  onRequestStart(wire: Dispatcher.DispatchController): void {
    this.#wire = wire;
    if (this.#reason) wire.abort(this.#reason);
    else if (this.#paused) wire.pause();
  }

  onRequestUpgrade(
    _wire: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    this.#finish();
    this.#handler.onRequestUpgrade?.(this, statusCode, headers, socket);
  }

  onResponseStart(
    wire: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    if (this.#done) return;
    const rejected = this.#connection.isRejection(statusCode);
    if (rejected && this.#credential && !this.#replaying) {
      const rawHeaders = wire.rawHeaders ?? null;
      this.#held = { statusCode, headers, statusMessage, rawHeaders, chunks: [], size: 0, trailers: {}, ended: false };
      // Even where nothing can be replayed the caller waits for it: so the next request has the new credential.
      this.#connection.refresh(this.#credential, statusCode, headers).then((credential) => {
        this.#refreshed = credential ?? null;
        this.#afterHeld();
      });
      return;
    }
    if (this.#replaying && !rejected) this.#connection.accepted();
    this.#answered = true;
    this.#handler.onResponseStart?.(this, statusCode, headers, statusMessage);
  }

  onResponseData(_wire: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done) return;
    const held = this.#held;
    if (!held) {
      this.#handler.onResponseData?.(this, chunk);
      return;
    }
    // undici may use the memory again.
    held.chunks.push(Buffer.from(chunk));
    held.size += chunk.length;
    if (held.size > heldLimit) this.#passOn(held);
  }

  onResponseEnd(_wire: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#done) return;
    if (this.#held) {
      this.#held.ended = true;
      this.#held.trailers = trailers;
      this.#afterHeld();
      return;
    }
    this.#finish();
    this.#handler.onResponseEnd?.(this, trailers);
  }

  onResponseError(_wire: Dispatcher.DispatchController, error: Error): void {
    if (this.#held && !this.#held.ended && !this.#reason) {
      // The connection broke inside the body of a 401: what was read of it has to do.
      this.#held.ended = true;
      this.#afterHeld();
      return;
    }
    if (isGoAway(error) && !this.#answered && !this.#reason && this.#retries > 0 && this.#body.replayable) {
      // The server said that it has not looked at this request: it may go out again, whatever its method.
      this.#retries -= 1;
      this.#wire = undefined;
      this.#resend = true;
      this.#send(this.#credential);
      return;
    }
    this.#fail(error);
  }

  /** When the 401 has been read and the refresh has ended: replay, or hand the 401 to the caller. */
  #afterHeld(): void {
    const held = this.#held;
    if (this.#done || !held?.ended || this.#refreshed === undefined || this.#delivering) return;
    if (this.#refreshed === null || !this.#body.replayable) {
      this.#delivering = true;
      this.#handler.onResponseStart?.(this, held.statusCode, held.headers, held.statusMessage);
      this.#deliver(held);
      return;
    }
    this.#held = undefined;
    this.#wire = undefined;
    this.#replaying = true;
    this.#resend = true;
    this.#send(this.#refreshed);
  }

  /** A 401 that is too long to be held goes to the caller while it comes; its refresh goes on for the next request. */
  #passOn(held: HeldResponse): void {
    this.#held = undefined;
    this.#handler.onResponseStart?.(this, held.statusCode, held.headers, held.statusMessage);
    for (const chunk of held.chunks) this.#handler.onResponseData?.(this, chunk);
  }

  #deliver(held: HeldResponse): void {
    while (!this.#paused && !this.#done) {
      const chunk = held.chunks.shift();
      if (!chunk) {
        this.#finish();
        this.#handler.onResponseEnd?.(this, held.trailers);
        return;
      }
      this.#handler.onResponseData?.(this, chunk);
    }
  }

  // What the caller tells us.

  pause(): void {
    this.#paused = true;
    if (!this.#held) this.#wire?.pause();
  }

  resume(): void {
    this.#paused = false;
    if (this.#delivering && this.#held) this.#deliver(this.#held);
    else this.#wire?.resume();
  }

  abort(reason: Error): void {
    if (this.#done) return;
    this.#reason = reason ?? new RequestError('REQUEST_ABORTED', 'the request was aborted');
    const onWire = this.#wire !== undefined && !this.#held?.ended;
    // undici reports the abort of what is on the wire; while the plugin runs there is nobody but us to do it.
    if (onWire) this.#wire?.abort(this.#reason);
    else this.#fail(this.#reason);
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

  get rawHeaders(): RawHeaders {
    return this.#held ? this.#held.rawHeaders : (this.#wire?.rawHeaders ?? null);
  }

  get rawTrailers(): RawHeaders {
    return this.#wire?.rawTrailers ?? null;
  }

  /** Ends the exchange with an error; the first one counts. */
  #fail(error: Error): void {
    if (this.#done) return;
    this.#finish();
    this.#handler.onResponseError?.(this, error);
  }

  #finish(): void {
    this.#done = true;
    this.#connection.letGo();
  }
}
