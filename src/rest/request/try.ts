import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Carrier, PooledRequest } from '../transport/pool.ts';
import type { RequestPool } from '../transport/request-pool.ts';
import { LastingController, type ResponseStart, type Upgrade } from './lasting-controller.ts';

/** What becomes of a try; nothing is told of one that was left. */
export interface TryEvents {
  /** It is about to be written: with an error it is not. */
  tryStarts(): Error | undefined;
  tryUpgraded(statusCode: number, headers: IncomingHttpHeaders, socket: Duplex): void;
  tryAnswered(statusCode: number, headers: IncomingHttpHeaders, statusMessage: string | undefined): void;
  tryData(chunk: Buffer): void;
  tryEnded(trailers: IncomingHttpHeaders): void;
  tryFailed(error: Error): void;
}

/**
 * One time that a request goes out: the handler that undici has for it. undici may start it a second time by itself, with
 * another controller (a stream that the server refused): it is the same try.
 */
export class Try extends LastingController implements PooledRequest {
  readonly longRunning: boolean;
  readonly #events: TryEvents;
  /** Where it waits until a socket takes it. */
  #pool: RequestPool | undefined;
  /** Why nobody waits for it any more. */
  #left: Error | undefined;
  #carrier: Carrier | undefined;
  #reused = false;
  failures = 0;
  waitsSince: number | undefined;

  constructor(events: TryEvents, longRunning: boolean, paused: boolean, waitsSince?: number) {
    super(paused);
    this.waitsSince = waitsSince;
    this.#events = events;
    this.longRunning = longRunning;
  }

  send(pool: RequestPool, options: Dispatcher.DispatchOptions): void {
    this.#pool = pool;
    pool.send(options, this);
  }

  /** Its connection had carried an answer before: the server may have closed it while it was idle. */
  get reused(): boolean {
    return this.#reused;
  }

  takenBy(carrier: Carrier): void {
    this.#carrier = carrier;
    this.#reused = carrier.proven;
  }

  notSent(error: Error): void {
    if (!this.#left) this.#events.tryFailed(error);
  }

  onRequestStart(wire: Dispatcher.DispatchController): void {
    const refusal = this.#left ?? this.#events.tryStarts();
    if (refusal) {
      wire.abort(refusal);
      return;
    }
    this.#carrier?.starts(wire);
    this.beginsWith(wire);
  }

  onRequestUpgrade(...[, statusCode, headers, socket]: Upgrade): void {
    if (this.#left) socket.destroy();
    else this.#events.tryUpgraded(statusCode, headers, socket);
  }

  onResponseStart(...[, statusCode, headers, statusMessage]: ResponseStart): void {
    this.#carrier?.answered();
    if (!this.#left) this.#events.tryAnswered(statusCode, headers, statusMessage);
  }

  onResponseData(_wire: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#left) this.#events.tryData(chunk);
  }

  onResponseEnd(_wire: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    this.#carrier?.tryEnded();
    if (!this.#left) this.#events.tryEnded(trailers);
  }

  onResponseError(_wire: Dispatcher.DispatchController | undefined, error: Error): void {
    this.failures += 1;
    this.#carrier?.tryEnded();
    if (!this.#left) this.#events.tryFailed(error);
  }

  /** Nobody waits for it any more. */
  leave(reason: Error): void {
    if (this.#left) return;
    this.#left = reason;
    this.#pool?.forget(this);
    this.wire?.abort(reason);
  }
}
