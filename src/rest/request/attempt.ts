import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Credential } from '../../exec/credential.ts';
import type { Carrier, PooledRequest, WireRequest } from '../transport/pooled-request.ts';
import type { OutgoingRequest } from './layer.ts';
import { type Controller, Relay } from './relay.ts';

/**
 * One time that a request goes out: where the layers end and the pool begins. undici may start it a second time by itself, with
 * another controller (a stream that the server refused): it is the same attempt.
 */
export class Attempt extends Relay implements PooledRequest {
  readonly longRunning: boolean;
  readonly #request: OutgoingRequest;
  readonly #fence: (() => Error | undefined) | undefined;
  #carrier: Carrier | undefined;
  failures = 0;

  /** `fence` is asked when the request is about to be written: with an error it is not. */
  constructor(
    request: OutgoingRequest,
    handler: Dispatcher.DispatchHandler,
    fence: (() => Error | undefined) | undefined,
  ) {
    super(handler);
    this.#request = request;
    this.#fence = fence;
    this.longRunning = request.longRunning;
  }

  send(options: WireRequest, credential: Credential | undefined): void {
    this.start();
    if (!this.done) this.#request.connection.send(options, this, credential);
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
    this.fail(error);
  }

  override onRequestStart(wire: Controller): void {
    const refusal = this.reason ?? this.#fence?.();
    if (refusal) {
      wire.abort(refusal);
      return;
    }
    this.#carrier?.starts(wire);
    super.onRequestStart(wire);
  }

  override onResponseStart(wire: Controller, statusCode: number, headers: IncomingHttpHeaders, message?: string): void {
    this.#carrier?.answered(statusCode);
    super.onResponseStart(wire, statusCode, headers, message);
  }

  override onResponseEnd(wire: Controller, trailers: IncomingHttpHeaders): void {
    this.#carrier?.attemptEnded();
    super.onResponseEnd(wire, trailers);
  }

  /** undici has no controller if it did not take the request. */
  override onResponseError(_wire: Controller | undefined, error: Error): void {
    this.failures += 1;
    this.#carrier?.attemptEnded();
    this.fail(error);
  }

  override abort(reason?: Error): void {
    if (this.done) return;
    this.#request.connection.forget(this);
    super.abort(reason);
  }
}
