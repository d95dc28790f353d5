/** Sends a request again after a pause where `retry-policy.ts` says so, and its body can be replayed. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { RequestError } from '../../errors/index.ts';
import { printable } from '../../util/printable.ts';
import type { Layer, OutgoingRequest, RequestOwner, Send } from './layer.ts';
import { type Controller, Relay } from './relay.ts';
import { requestName } from './request-messages.ts';
import { type Outcome, pauseBeforeRetry } from './retry-policy.ts';

export const retry: Layer = (owner, next) => (request, handler) => {
  new RetriedRequest(owner, next, request, handler).send();
};

class RetriedRequest extends Relay {
  readonly #owner: RequestOwner;
  readonly #next: Send;
  readonly #request: OutgoingRequest;
  /** Ends the pause before the next attempt. */
  #pause: AbortController | undefined;

  constructor(owner: RequestOwner, next: Send, request: OutgoingRequest, handler: Dispatcher.DispatchHandler) {
    super(handler);
    this.#owner = owner;
    this.#next = next;
    this.#request = request;
  }

  send(): void {
    this.start();
    this.#attempt();
  }

  #attempt(): void {
    if (this.done) return;
    this.#request.waitsSince = undefined;
    this.#next(this.#request, this);
  }

  override onResponseStart(
    controller: Controller,
    statusCode: number,
    headers: IncomingHttpHeaders,
    message?: string,
  ): void {
    const isResponse = this.isCurrent(controller) && statusCode >= 200;
    const pauseMs = isResponse ? this.#pauseAfter({ statusCode, headers }) : undefined;
    if (pauseMs === undefined) {
      super.onResponseStart(controller, statusCode, headers, message);
      return;
    }
    // A 401 has been warned about already.
    if (this.#request.retryUntil !== undefined && statusCode !== 401) {
      const name = requestName(this.#request.options).replace('GET ', '');
      const warning = `watch ${name} could not begin and is tried again: the server answered ${statusCode}`;
      this.#owner.log.watchRefused(statusCode, warning);
    }
    this.#retryIn(pauseMs);
  }

  override onResponseError(controller: Controller, error: Error): void {
    const mayRetry = this.isCurrent(controller) && !this.answered && !this.aborted;
    const pauseMs = mayRetry ? this.#pauseAfter({ error }) : undefined;
    if (pauseMs === undefined) super.onResponseError(controller, error);
    else this.#retryIn(pauseMs);
  }

  #pauseAfter(outcome: Outcome): number | undefined {
    const { options, body, sent, retryUntil } = this.#request;
    if (!body.replayable) return undefined;
    const [method, path] = [String(options.method).toUpperCase(), String(options.path)];
    const watchLeftMs = retryUntil === undefined ? undefined : retryUntil - performance.now();
    const pauseMs = pauseBeforeRetry({ method, path, sent, watchLeftMs }, outcome);
    if (pauseMs !== undefined) {
      const why = 'error' in outcome ? printable(outcome.error.message, 1_024) : `status ${outcome.statusCode}`;
      this.#owner.log.debug(`${requestName(options)} is sent again in ${pauseMs} ms: ${why}`, { tries: sent });
    }
    return pauseMs;
  }

  #retryIn(ms: number): void {
    // What is left of its body is read during the pause, so that its connection can be used again.
    const last = this.detach();
    this.#pause = new AbortController();
    const leave = () => last?.abort(new RequestError('REQUEST_ABORTED', 'the request is sent again'));
    this.#owner
      .pause(ms, this.#pause.signal)
      .finally(leave)
      .then(
        () => {
          this.#request.sent += 1;
          this.#attempt();
        },
        (reason: Error) => this.fail(reason),
      );
  }

  override abort(reason?: Error): void {
    super.abort(reason);
    this.#pause?.abort(this.reason);
  }
}
