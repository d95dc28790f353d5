import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Carrier, PooledRequest } from '../transport/pool.ts';
import type { RequestPool } from '../transport/request-pool.ts';
import type { OutgoingRequest } from './layer.ts';
import { RelayedController } from './relayed-controller.ts';

type Controller = Dispatcher.DispatchController;

/**
 * One time that a request goes out: where the layers end and the pool begins. undici may start it a second time by itself, with
 * another controller (a stream that the server refused): it is the same attempt.
 */
export class Attempt extends RelayedController implements PooledRequest {
  readonly longRunning: boolean;
  readonly fenced: boolean;
  readonly #request: OutgoingRequest;
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #fence: (() => Error | undefined) | undefined;
  /** Where it waits until a socket takes it. */
  #pool: RequestPool | undefined;
  #carrier: Carrier | undefined;
  failures = 0;

  /** `fence` is asked when the request is about to be written: with an error it is not. */
  constructor(
    request: OutgoingRequest,
    handler: Dispatcher.DispatchHandler,
    fence: (() => Error | undefined) | undefined,
  ) {
    super();
    this.#request = request;
    this.#handler = handler;
    this.#fence = fence;
    this.longRunning = request.longRunning;
    this.fenced = fence !== undefined;
  }

  send(pool: RequestPool, options: Dispatcher.DispatchOptions): void {
    this.#pool = pool;
    this.#handler.onRequestStart?.(this, {});
    if (!this.aborted) pool.send(options, this);
  }

  get waitsSince(): number | undefined {
    return this.#request.waitsSince;
  }

  set waitsSince(since: number | undefined) {
    this.#request.waitsSince = since;
  }

  takenBy(carrier: Carrier): void {
    this.#carrier = carrier;
    this.#request.reused = carrier.proven;
  }

  notSent(error: Error): void {
    if (!this.aborted) this.#handler.onResponseError?.(this, error);
  }

  onRequestStart(wire: Controller): void {
    const refusal = this.reason ?? this.#fence?.();
    if (refusal) {
      wire.abort(refusal);
      return;
    }
    this.#carrier?.starts(wire);
    this.relayTo(wire);
  }

  onRequestUpgrade(_wire: Controller, statusCode: number, headers: IncomingHttpHeaders, socket: Duplex): void {
    if (this.aborted) socket.destroy();
    else this.#handler.onRequestUpgrade?.(this, statusCode, headers, socket);
  }

  onResponseStart(_wire: Controller, statusCode: number, headers: IncomingHttpHeaders, statusMessage?: string): void {
    this.#carrier?.answered();
    if (!this.aborted) this.#handler.onResponseStart?.(this, statusCode, headers, statusMessage);
  }

  onResponseData(_wire: Controller, chunk: Buffer): void {
    if (!this.aborted) this.#handler.onResponseData?.(this, chunk);
  }

  onResponseEnd(_wire: Controller, trailers: IncomingHttpHeaders): void {
    this.#carrier?.attemptEnded();
    if (!this.aborted) this.#handler.onResponseEnd?.(this, trailers);
  }

  onResponseError(_wire: Controller | undefined, error: Error): void {
    this.failures += 1;
    this.#carrier?.attemptEnded();
    if (!this.aborted) this.#handler.onResponseError?.(this, error);
  }

  /** Its handler hears no more of it. */
  override abort(reason: Error): void {
    if (this.aborted) return;
    this.#pool?.forget(this);
    super.abort(reason);
  }
}
