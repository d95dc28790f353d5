/** Sends a request again where `retry-policy.ts` says so, and its body can be sent again. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { RequestError } from '../../errors/index.ts';
import { printable } from '../../util/printable.ts';
import type { Layer, OutgoingRequest, RequestOwner, Send } from './layer.ts';
import { requestName } from './request-messages.ts';
import { ResendingHandler } from './resending-handler.ts';
import { type Outcome, pauseBeforeRetry } from './retry-policy.ts';

type Controller = Dispatcher.DispatchController;

export const retry: Layer = (owner, next) => (request, handler) => {
  new RetriedRequest(owner, next, request, handler).send();
};

class RetriedRequest extends ResendingHandler {
  readonly #owner: RequestOwner;
  readonly #next: Send;
  readonly #request: OutgoingRequest;
  /** While it waits for the next attempt. */
  #waiting: AbortController | undefined;

  constructor(owner: RequestOwner, next: Send, request: OutgoingRequest, handler: Dispatcher.DispatchHandler) {
    super(handler);
    this.#owner = owner;
    this.#next = next;
    this.#request = request;
  }

  send(): void {
    if (this.start()) this.#attempt();
  }

  #attempt(): void {
    this.#waiting = undefined;
    this.#request.waitsSince = undefined;
    this.#request.sent += 1;
    this.#next(this.#request, this);
  }

  onResponseStart(
    controller: Controller,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    if (!this.isCurrent(controller)) return;
    if (statusCode >= 200) {
      const pauseMs = this.#pauseAfter({ statusCode, headers });
      if (pauseMs !== undefined) {
        const name = requestName(this.#request.options);
        // A 401 has been warned about already.
        if (this.#request.retryUntil !== undefined && statusCode !== 401) {
          const message = `watch ${name.replace('GET ', '')} could not begin and is tried again: the server answered ${statusCode}`;
          this.#owner.log.watchRefused(statusCode, message);
        }
        this.#retryIn(pauseMs);
        return;
      }
    }
    this.respond(statusCode, headers, statusMessage);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.isCurrent(controller) && !this.#waiting) this.data(chunk);
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    if (this.isCurrent(controller) && !this.#waiting) this.end(trailers);
  }

  onResponseError(controller: Controller, error: Error): void {
    if (!this.isCurrent(controller) || this.#waiting) return;
    const pauseMs = this.answered ? undefined : this.#pauseAfter({ error });
    if (pauseMs === undefined) {
      this.fail(error);
      return;
    }
    this.#retryIn(pauseMs);
  }

  #pauseAfter(outcome: Outcome): number | undefined {
    const { options, body, sent, retryUntil } = this.#request;
    if (!body.replayable) return undefined;
    const [method, path] = [String(options.method).toUpperCase(), String(options.path)];
    const informerList = method === 'GET' && this.#owner.isWatched(path);
    const watchLeftMs = retryUntil === undefined ? undefined : retryUntil - performance.now();
    const pauseMs = pauseBeforeRetry({ method, path, sent, informerList, watchLeftMs }, outcome);
    if (pauseMs !== undefined) {
      const why = 'error' in outcome ? printable(outcome.error.message, 1_024) : `status ${outcome.statusCode}`;
      this.#owner.log.debug(`${requestName(options)} is sent again in ${pauseMs} ms: ${why}`, { tries: sent });
    }
    return pauseMs;
  }

  /** What still comes of the last attempt is dropped. */
  #retryIn(ms: number): void {
    const waiting = new AbortController();
    this.#waiting = waiting;
    this.#owner.pause(ms, waiting.signal).then(
      () => {
        if (this.done) return;
        this.leave(new RequestError('REQUEST_ABORTED', 'the request is sent again'));
        this.#attempt();
      },
      (reason: Error) => this.fail(reason),
    );
  }

  override abort(reason: Error): void {
    super.abort(reason);
    this.#waiting?.abort(reason);
  }
}
