/** Where a request may go, and how long it may take. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { ConnectionError } from '../../errors/index.ts';
import type { Layer } from './layer.ts';
import { refuse } from './safe-handler.ts';
import { type Controller, WrappedHandler } from './wrapped-handler.ts';

/**
 * Refuses a request to another origin, to a path that `allowedServers` does not allow, and one that the fence holds back. Ends one
 * that takes longer than `requestTimeoutMs`, unless it is long-running.
 */
export const bounds: Layer = (owner, next) => (request, handler) => {
  const { options, connection, longRunning } = request;
  const origin = options.origin === undefined ? connection.origin : String(options.origin);
  const refusal =
    origin !== connection.origin && URL.parse(origin)?.origin !== connection.origin
      ? owner.originRefusal(origin)
      : (owner.fence?.() ?? owner.pathRefusal(String(options.path)));
  const { requestTimeoutMs } = connection;
  if (refusal) refuse(handler, refusal);
  else if (requestTimeoutMs === undefined || longRunning) next(request, handler);
  else {
    const message = `no whole answer within requestTimeoutMs (${requestTimeoutMs} ms): see whether the server is busy, or raise it`;
    const error = () => new ConnectionError('RESPONSE_TIMEOUT', owner.cluster, message);
    next(request, new TimedHandler(handler, requestTimeoutMs, error));
  }
};

class TimedHandler extends WrappedHandler {
  readonly #timer: NodeJS.Timeout;
  #controller: Controller | undefined;

  constructor(handler: Dispatcher.DispatchHandler, ms: number, error: () => Error) {
    super(handler);
    this.#timer = setTimeout(() => this.#controller?.abort(error()), ms).unref();
  }

  override onRequestStart(controller: Controller, context: object): void {
    this.#controller = controller;
    super.onRequestStart(controller, context);
  }

  override onRequestUpgrade(...args: Parameters<WrappedHandler['onRequestUpgrade']>): void {
    clearTimeout(this.#timer);
    super.onRequestUpgrade(...args);
  }

  override onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    clearTimeout(this.#timer);
    super.onResponseEnd(controller, trailers);
  }

  override onResponseError(controller: Controller, error: Error): void {
    clearTimeout(this.#timer);
    super.onResponseError(controller, error);
  }
}
