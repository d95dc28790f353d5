/** Reports each request: to metrics, `diagnostics_channel` and the log. Errors of Node and undici become this package's here. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { emit, isObserved, type Observer, type RequestStart } from '../../observability/telemetry.ts';
import { hideWholeSecrets } from '../../redaction/known-secrets.ts';
import { toOwnError } from '../transport/connection-errors.ts';
import type { Layer, OutgoingRequest, RequestOwner } from './layer.ts';
import { type Controller, WrappedHandler } from './wrapped-handler.ts';

export const report: Layer = (owner, next) => (request, handler) => {
  next(request, new ReportingHandler(handler, owner, request));
};

class ReportingHandler extends WrappedHandler {
  readonly #owner: RequestOwner;
  readonly #request: OutgoingRequest;
  readonly #events: RequestEvents | undefined;
  #answered = false;

  constructor(handler: Dispatcher.DispatchHandler, owner: RequestOwner, request: OutgoingRequest) {
    super(handler);
    this.#owner = owner;
    this.#request = request;
    const { observer } = request.connection;
    if (isObserved(observer, 'request-start') || isObserved(observer, 'request-end'))
      this.#events = new RequestEvents(observer, request);
  }

  override onRequestUpgrade(
    controller: Controller,
    statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    this.#owner.log.answered();
    this.#events?.answered(statusCode);
    this.#events?.ended(undefined);
    super.onRequestUpgrade(controller, statusCode, headers, socket);
  }

  override onResponseStart(
    controller: Controller,
    statusCode: number,
    headers: IncomingHttpHeaders,
    message?: string,
  ): void {
    this.#owner.log.answered();
    // Early hints and the like: the response is still to come.
    if (statusCode >= 200) {
      this.#answered = true;
      this.#events?.answered(statusCode);
    }
    super.onResponseStart(controller, statusCode, headers, message);
  }

  override onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    this.#events?.ended(undefined);
    super.onResponseEnd(controller, trailers);
  }

  override onResponseError(controller: Controller, error: Error): void {
    // What the caller aborts with stays as it is.
    const own = error === controller.reason ? error : toOwnError(error, this.#owner.cluster);
    // A watch is cut off now and then.
    if (!this.#answered || !this.#request.longRunning) this.#owner.log.failed(own);
    this.#events?.ended(own);
    super.onResponseError(controller, own);
  }
}

let lastId = 0;

/** The events of one request: when it begins, and when it has ended. */
class RequestEvents {
  readonly #observer: Observer | undefined;
  readonly #start: RequestStart;
  readonly #longRunning: boolean;
  readonly #began = performance.now();
  #statusCode: number | undefined;
  #answerMs: number | undefined;

  constructor(observer: Observer | undefined, { options, connection, longRunning }: OutgoingRequest) {
    this.#observer = observer;
    this.#longRunning = longRunning;
    lastId += 1;
    const { provider, origin, source } = connection;
    // A redirect may have brought what the server was sent.
    const path = hideWholeSecrets(String(options.path).replace(/[?#].*/s, ''), source.secrets);
    this.#start = { requestId: lastId, provider, origin, method: String(options.method), path };
    emit(observer, 'request-start', this.#start);
  }

  answered(statusCode: number): void {
    this.#statusCode = statusCode;
    this.#answerMs = performance.now() - this.#began;
  }

  ended(error: Error | undefined): void {
    const code = error && 'code' in error && typeof error.code === 'string' ? error.code : error?.name;
    emit(this.#observer, 'request-end', {
      ...this.#start,
      ...(this.#statusCode === undefined ? {} : { statusCode: this.#statusCode }),
      ...(this.#answerMs === undefined ? {} : { answerMs: this.#answerMs }),
      ...(code === undefined ? {} : { code }),
      durationMs: performance.now() - this.#began,
      longRunning: this.#longRunning,
    });
  }
}
