import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { RequestError } from '../../errors.ts';

/** Is told of what a handler throws where there is nothing left to end. */
interface Witness {
  callerThrew(message: string): void;
}

/** The caller's handler. One that throws ends its own request, as undici has it, and nothing else. */
export class Caller {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #controller: Dispatcher.DispatchController;
  readonly #witness: Witness;

  constructor(handler: Dispatcher.DispatchHandler, controller: Dispatcher.DispatchController, witness: Witness) {
    this.#handler = handler;
    this.#controller = controller;
    this.#witness = witness;
  }

  started(): void {
    try {
      this.#handler.onRequestStart?.(this.#controller, {});
    } catch (error) {
      this.#controller.abort(toError(error));
    }
  }

  upgraded(statusCode: number, headers: IncomingHttpHeaders, socket: Duplex): void {
    try {
      this.#handler.onRequestUpgrade?.(this.#controller, statusCode, headers, socket);
    } catch (error) {
      socket.destroy();
      this.failed(toError(error));
    }
  }

  answered(statusCode: number, headers: IncomingHttpHeaders, statusMessage: string | undefined): void {
    try {
      this.#handler.onResponseStart?.(this.#controller, statusCode, headers, statusMessage);
    } catch (error) {
      this.#controller.abort(toError(error));
    }
  }

  data(chunk: Buffer): void {
    try {
      this.#handler.onResponseData?.(this.#controller, chunk);
    } catch (error) {
      this.#controller.abort(toError(error));
    }
  }

  ended(trailers: IncomingHttpHeaders): void {
    try {
      this.#handler.onResponseEnd?.(this.#controller, trailers);
    } catch (error) {
      this.failed(toError(error));
    }
  }

  failed(error: Error): void {
    try {
      this.#handler.onResponseError?.(this.#controller, error);
    } catch (thrown) {
      this.#witness.callerThrew(
        `the handler of a request has thrown: ${thrown instanceof Error ? thrown.message : thrown}`,
      );
    }
  }
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new RequestError('REQUEST_ABORTED', 'a handler has thrown');
}
