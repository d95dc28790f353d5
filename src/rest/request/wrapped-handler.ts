import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';

export type Controller = Dispatcher.DispatchController;

/** The handler of a layer that passes on what it does not change. */
export abstract class WrappedHandler implements Dispatcher.DispatchHandler {
  protected readonly handler: Dispatcher.DispatchHandler;

  constructor(handler: Dispatcher.DispatchHandler) {
    this.handler = handler;
  }

  onRequestStart(controller: Controller, context: object): void {
    this.handler.onRequestStart?.(controller, context);
  }

  onRequestUpgrade(controller: Controller, statusCode: number, headers: IncomingHttpHeaders, socket: Duplex): void {
    this.handler.onRequestUpgrade?.(controller, statusCode, headers, socket);
  }

  onResponseStart(controller: Controller, statusCode: number, headers: IncomingHttpHeaders, message?: string): void {
    this.handler.onResponseStart?.(controller, statusCode, headers, message);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.handler.onResponseData?.(controller, chunk);
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    this.handler.onResponseEnd?.(controller, trailers);
  }

  onResponseError(controller: Controller, error: Error): void {
    this.handler.onResponseError?.(controller, error);
  }
}
