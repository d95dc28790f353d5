import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { RequestError } from '../../errors/index.ts';

export type Controller = Dispatcher.DispatchController;
type RawHeaders = NonNullable<Controller['rawHeaders']> | null;

/**
 * The base of every layer: undici's handler for the layer below, and the controller of the layer above. It passes everything on; a layer
 * overrides what it changes. It outlives the layers below, so that a request can be sent again: what was paused or aborted stays so.
 */
export class Relay implements Dispatcher.DispatchHandler, Controller {
  readonly #above: Dispatcher.DispatchHandler;
  #below: Controller | undefined;
  #started = false;
  #answered = false;
  #done = false;
  #paused = false;
  #reason: Error | null = null;

  constructor(above: Dispatcher.DispatchHandler) {
    this.#above = above;
  }

  /** Refuses a request before anything is sent. */
  static refuse(above: Dispatcher.DispatchHandler, error: Error): void {
    const relay = new Relay(above);
    relay.start();
    relay.fail(error);
  }

  /** Must come before anything is awaited: a caller that gives up meanwhile needs something to abort. */
  protected start(): void {
    this.#started = true;
    this.#above.onRequestStart?.(this, {});
  }

  /** The attempt under way is another one from now on: later events of this one are dropped. */
  protected detach(): Controller | undefined {
    const below = this.#below;
    this.#below = undefined;
    return below;
  }

  protected get below(): Controller | undefined {
    return this.#below;
  }

  /** The layer above has seen the beginning of a response. */
  protected get answered(): boolean {
    return this.#answered;
  }

  /** Whether the request may be sent again: the layer above has seen nothing of a response, and goes on waiting. */
  protected get undecided(): boolean {
    return !this.#answered && !this.#done && !this.aborted;
  }

  protected get done(): boolean {
    return this.#done;
  }

  // From the layer below. What comes from an earlier attempt is dropped.

  #isCurrent(controller: Controller): boolean {
    return controller === this.#below && !this.#done;
  }

  onRequestStart(controller: Controller): void {
    this.#below = controller;
    if (this.#paused) controller.pause();
    if (!this.#started) this.start();
  }

  onRequestUpgrade(controller: Controller, statusCode: number, headers: IncomingHttpHeaders, socket: Duplex): void {
    if (this.#isCurrent(controller)) this.upgrade(statusCode, headers, socket);
    else socket.destroy();
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

  onResponseError(controller: Controller, error: Error): void {
    if (this.#isCurrent(controller)) this.fail(error);
  }

  // To the layer above.

  protected upgrade(statusCode: number, headers: IncomingHttpHeaders, socket: Duplex): void {
    this.#done = true;
    this.#above.onRequestUpgrade?.(this, statusCode, headers, socket);
  }

  protected respond(statusCode: number, headers: IncomingHttpHeaders, message: string | undefined): void {
    // Early hints and the like come before the response.
    this.#answered ||= statusCode >= 200;
    this.#above.onResponseStart?.(this, statusCode, headers, message);
  }

  protected data(chunk: Buffer): void {
    if (!this.#done) this.#above.onResponseData?.(this, chunk);
  }

  protected complete(trailers: IncomingHttpHeaders): void {
    if (this.#done) return;
    this.#done = true;
    this.#above.onResponseEnd?.(this, trailers);
  }

  protected fail(error: Error): void {
    if (this.#done) return;
    this.#done = true;
    this.#above.onResponseError?.(this, error);
  }

  // Called by the layer above, as its controller.

  /** Takes effect at once, also while nothing is under way below. */
  abort(given?: Error): void {
    if (this.#done) return;
    // undici gives none where its caller destroys a body.
    const reason = given ?? new RequestError('REQUEST_ABORTED', 'the request was aborted');
    this.#reason ??= reason;
    this.#below?.abort(reason);
    this.fail(reason);
  }

  pause(): void {
    this.#paused = true;
    this.#below?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#below?.resume();
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
    return this.#below?.rawHeaders ?? null;
  }

  get rawTrailers(): RawHeaders {
    return this.#below?.rawTrailers ?? null;
  }
}
