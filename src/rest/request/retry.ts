/**
 * Sends a request again where `retry-policy.ts` says so and its body can be replayed. Two layers: a request that its connection could
 * not carry goes out again at once, and nothing but the log tells; any other one after a pause, as a new attempt with a time limit
 * and metrics of its own.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { RequestError } from '../../errors/index.ts';
import { printable } from '../../util/printable.ts';
import { isUnprocessed } from '../transport/connection-errors.ts';
import type { Layer, OutgoingRequest, RequestOwner, Send } from './layer.ts';
import { Relay } from './relay.ts';
import { requestName } from './request-messages.ts';
import { isRetriedAtOnce, type Outcome, pauseBeforeRetry } from './retry-policy.ts';

export const retryAtOnce: Layer = (owner, next) => (request, handler) => {
  next(request, new RequestRetriedAtOnce(owner, next, request, handler));
};

class RequestRetriedAtOnce extends Relay {
  readonly #owner: RequestOwner;
  readonly #next: Send;
  readonly #request: OutgoingRequest;

  constructor(owner: RequestOwner, next: Send, request: OutgoingRequest, handler: Dispatcher.DispatchHandler) {
    super(handler);
    this.#owner = owner;
    this.#next = next;
    this.#request = request;
  }

  protected override fail(error: Error): void {
    const request = this.#request;
    if (!this.undecided || !request.body.replayable || !isRetriedAtOnce(request, error)) {
      super.fail(error);
      return;
    }
    this.#owner.log.debug(`${requestName(request.options)} is sent again: ${printable(error.message, 1_024)}`);
    request.sent += 1;
    // A request that no server has processed has waited for a connection since its first attempt.
    if (!isUnprocessed(error)) request.waitsSince = undefined;
    this.#next(request, this);
  }
}

export const retryAfterPause: Layer = (owner, next) => (request, handler) => {
  if (request.retry === 'never') next(request, handler);
  else new RequestRetriedAfterPause(owner, next, request, handler).send();
};

class RequestRetriedAfterPause extends Relay {
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

  protected override respond(statusCode: number, headers: IncomingHttpHeaders, message: string | undefined): void {
    const pauseMs = statusCode < 200 ? undefined : this.#pauseAfter({ statusCode, headers });
    if (pauseMs === undefined) {
      super.respond(statusCode, headers, message);
      return;
    }
    // A 401 has been warned about already.
    if (typeof this.#request.retry === 'object' && statusCode !== 401) {
      const name = requestName(this.#request.options).replace('GET ', '');
      const warning = `watch ${name} could not begin and is tried again: the server answered ${statusCode}`;
      this.#owner.log.watchRefused(statusCode, warning);
    }
    this.#retryIn(pauseMs);
  }

  protected override fail(error: Error): void {
    const pauseMs = this.undecided ? this.#pauseAfter({ error }) : undefined;
    if (pauseMs === undefined) super.fail(error);
    else this.#retryIn(pauseMs);
  }

  #pauseAfter(outcome: Outcome): number | undefined {
    const { options, body, sent, retry } = this.#request;
    if (!body.replayable) return undefined;
    const [method, path] = [String(options.method).toUpperCase(), String(options.path)];
    const watchLeftMs = typeof retry === 'object' ? retry.until - performance.now() : undefined;
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
        (reason: Error) => super.fail(reason),
      );
  }

  override abort(reason?: Error): void {
    super.abort(reason);
    this.#pause?.abort(this.reason);
  }
}
