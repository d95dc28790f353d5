import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { RequestError } from '../../errors/index.ts';
import { RelayedController } from './relayed-controller.ts';

type Controller = Dispatcher.DispatchController;

/**
 * The handler of a layer that may send a request again. The layer above sees one controller: what it pauses or aborts holds for the
 * next attempt too. An abort takes effect at once, also while nothing is under way; what an earlier attempt still says is ignored.
 */
export abstract class ResendingHandler extends RelayedController implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  #answered = false;
  #done = false;

  constructor(handler: Dispatcher.DispatchHandler) {
    super();
    this.#handler = handler;
  }

  /** Before anything is awaited: a caller that gives up meanwhile has something to abort. False where it has. */
  protected start(): boolean {
    this.#handler.onRequestStart?.(this, {});
    return !this.#done;
  }

  /** No more is taken from the attempt under way, which is given up if it has not ended. */
  protected leave(reason: Error): void {
    const { wire } = this;
    this.relayTo(undefined);
    wire?.abort(reason);
  }

  /** The layer above has seen the beginning of a response: nothing is sent again. */
  protected get answered(): boolean {
    return this.#answered;
  }

  protected get done(): boolean {
    return this.#done;
  }

  protected isCurrent(controller: Controller): boolean {
    return controller === this.wire && !this.#done;
  }

  // To the layer above.

  protected upgrade(statusCode: number, headers: IncomingHttpHeaders, socket: Duplex): void {
    this.#done = true;
    this.#handler.onRequestUpgrade?.(this, statusCode, headers, socket);
  }

  protected respond(statusCode: number, headers: IncomingHttpHeaders, statusMessage: string | undefined): void {
    // Early hints and the like are none.
    this.#answered ||= statusCode >= 200;
    this.#handler.onResponseStart?.(this, statusCode, headers, statusMessage);
  }

  protected data(chunk: Buffer): void {
    this.#handler.onResponseData?.(this, chunk);
  }

  protected end(trailers: IncomingHttpHeaders): void {
    this.#done = true;
    this.#handler.onResponseEnd?.(this, trailers);
  }

  protected fail(error: Error): void {
    if (this.#done) return;
    this.#done = true;
    this.#handler.onResponseError?.(this, error);
  }

  // From the layer below.

  onRequestStart(controller: Controller): void {
    this.relayTo(controller);
  }

  onRequestUpgrade(controller: Controller, statusCode: number, headers: IncomingHttpHeaders, socket: Duplex): void {
    if (this.isCurrent(controller)) this.upgrade(statusCode, headers, socket);
    else socket.destroy();
  }

  abstract onResponseStart(
    controller: Controller,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void;
  abstract onResponseData(controller: Controller, chunk: Buffer): void;
  abstract onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void;
  abstract onResponseError(controller: Controller, error: Error): void;

  override abort(given?: Error): void {
    if (this.#done) return;
    // undici gives none where its caller destroys a body.
    const reason = given ?? new RequestError('REQUEST_ABORTED', 'the request was aborted');
    const { wire } = this;
    this.relayTo(undefined);
    super.abort(reason);
    this.fail(reason);
    wire?.abort(reason);
  }
}
