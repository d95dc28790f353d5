import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { RequestError } from '../../errors/index.ts';
import type { ClusterLog } from '../transport/cluster-log.ts';

import { RelayedController } from './relayed-controller.ts';

type Controller = Dispatcher.DispatchController;

/** The caller's handler. If it throws, its own request ends, as with undici, and nothing else. */
export class SafeHandler implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #log: ClusterLog;
  readonly #onEnd: (handler: SafeHandler) => void;
  #controller: Controller | undefined;

  /** `onEnd` is called once, before the caller's last callback. */
  constructor(
    handler: Dispatcher.DispatchHandler,
    log: ClusterLog,
    onEnd: (handler: SafeHandler) => void = () => undefined,
  ) {
    this.#handler = handler;
    this.#log = log;
    this.#onEnd = onEnd;
  }

  abort(reason: Error): void {
    this.#controller?.abort(reason);
  }

  /** Ends the request with its connection. */
  end(reason: RequestError): void {
    this.abort(reason.of(this.#log.cluster));
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    try {
      this.#handler.onRequestStart?.(controller, {});
    } catch (error) {
      controller.abort(toError(error));
    }
  }

  onRequestUpgrade(controller: Controller, statusCode: number, headers: IncomingHttpHeaders, socket: Duplex): void {
    this.#onEnd(this);
    try {
      this.#handler.onRequestUpgrade?.(controller, statusCode, headers, socket);
    } catch (error) {
      socket.destroy();
      this.#fail(controller, toError(error));
    }
  }

  onResponseStart(
    controller: Controller,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    try {
      this.#handler.onResponseStart?.(controller, statusCode, headers, statusMessage);
    } catch (error) {
      controller.abort(toError(error));
    }
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    try {
      this.#handler.onResponseData?.(controller, chunk);
    } catch (error) {
      controller.abort(toError(error));
    }
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    this.#onEnd(this);
    try {
      this.#handler.onResponseEnd?.(controller, trailers);
    } catch (error) {
      this.#fail(controller, toError(error));
    }
  }

  onResponseError(controller: Controller, error: Error): void {
    this.#onEnd(this);
    this.#fail(controller, error);
  }

  #fail(controller: Controller, error: Error): void {
    try {
      this.#handler.onResponseError?.(controller, error);
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : thrown;
      this.#log.callerThrew(`the handler of a request has thrown: ${reason}`);
    }
  }
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new RequestError('REQUEST_ABORTED', 'a handler has thrown');
}

/** Refuses a request before anything is sent. */
export function refuse(handler: Dispatcher.DispatchHandler, error: Error): void {
  const controller = new RelayedController();
  handler.onRequestStart?.(controller, {});
  controller.abort(error);
  handler.onResponseError?.(controller, controller.reason ?? error);
}
