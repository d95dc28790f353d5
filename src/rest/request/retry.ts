/**
 * When a request is sent again, and after how long: the one policy, as client-go has it, for generated clients, `config.fetch` and
 * the dispatcher; and the layer that sends it after a pause, as a new attempt with a time limit and metrics of its own. client-node's
 * watches, and the informers on them, end at any error, so they are sent again after more of them.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { ConnectionError, CredentialsError, PluginError, RequestError } from '../../errors/index.ts';
import { printable } from '../../util/printable.ts';
import { isLost, isUnanswered, isUnprocessed } from '../transport/connection-errors.ts';
import { requestName } from '../transport/wire-request.ts';
import { type Layer, type OutgoingRequest, RelayedRequest, type Send } from './layer.ts';

export const retryAfterPause: Layer = (request, handler, next) => {
  if (request.retry === 'never') next(request, handler);
  else new RequestRetriedAfterPause(request, handler, next).send();
};

class RequestRetriedAfterPause extends RelayedRequest {
  readonly #next: Send;
  /** Ends the pause before the next attempt. */
  #pause: AbortController | undefined;

  constructor(request: OutgoingRequest, handler: Dispatcher.DispatchHandler, next: Send) {
    super(request, handler);
    this.#next = next;
  }

  send(): void {
    this.start();
    this.#attempt();
  }

  #attempt(): void {
    if (!this.done) this.#next(this.request, this);
  }

  protected override respond(statusCode: number, headers: IncomingHttpHeaders, message: string | undefined): void {
    const pauseMs = statusCode < 200 ? undefined : this.#pauseAfter({ statusCode, headers });
    if (pauseMs === undefined) {
      super.respond(statusCode, headers, message);
      return;
    }
    // A 401 has been warned about already.
    const { retry, options, owner } = this.request;
    if (typeof retry === 'object' && statusCode !== 401) {
      const name = requestName(options).replace('GET ', '');
      const message = `watch ${name} could not begin and is tried again: the server answered ${statusCode}`;
      owner.log.problem('watch', { key: String(statusCode), message });
    }
    this.#retryIn(pauseMs);
  }

  protected override fail(error: Error): void {
    const pauseMs = this.undecided ? this.#pauseAfter({ error }) : undefined;
    if (pauseMs === undefined) super.fail(error);
    else this.#retryIn(pauseMs);
  }

  #pauseAfter(outcome: Outcome): number | undefined {
    const { options, body, sent, owner } = this.request;
    if (!body.replayable) return undefined;
    const pauseMs = pauseBeforeRetry(this.request, outcome);
    if (pauseMs !== undefined) {
      const why = 'error' in outcome ? printable(outcome.error.message, 1_024) : `status ${outcome.statusCode}`;
      owner.log.debug(`${requestName(options)} is sent again in ${pauseMs} ms: ${why}`, { tries: sent });
    }
    return pauseMs;
  }

  #retryIn(ms: number): void {
    // What is left of its body is read during the pause, so that its connection can be used again.
    const last = this.detach();
    this.#pause = new AbortController();
    const leave = () => last?.abort(new RequestError('REQUEST_ABORTED', 'the request is sent again'));
    this.request.owner
      .pause(ms, this.#pause.signal)
      .finally(leave)
      .then(
        () => {
          this.request.sent += 1;
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

/** How often one request is sent again in all. */
const maxRetries = 10;
/** How often it is sent again without a pause. */
const maxRetriesAtOnce = 5;
/** Milliseconds before a GET whose connection was lost is sent again. */
const lostPauseMs = 1_000;
/** Milliseconds between the attempts of a watch. */
const firstPauseMs = 500;
const longestPauseMs = 8_000;
/** The longest time that a server may ask a client to wait, in seconds: a response that asks for more is the caller's. */
const longestRetryAfter = 60;

/** Statuses of a server that is overloaded, starting or going. */
export const transientStatuses: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** How an attempt ended, before its caller has seen anything of a response. */
type Outcome = { readonly statusCode: number; readonly headers: IncomingHttpHeaders } | { readonly error: Error };

/**
 * Whether a request without a response goes out again at once: the server has not processed it; or it changes nothing, and its
 * connection was `reused`, so that it may have been closed while it was idle.
 */
export function isRetriedAtOnce({ options, sent }: OutgoingRequest, reused: boolean, error: Error): boolean {
  if (sent > maxRetriesAtOnce) return false;
  return isUnprocessed(error) || (reused && safeMethods.has(methodOf(options)) && isLost(error));
}

/** Milliseconds until the next attempt, or `undefined` if the outcome is the caller's. */
function pauseBeforeRetry(request: OutgoingRequest, outcome: Outcome): number | undefined {
  const { options, sent, retry } = request;
  if (sent > maxRetries) return undefined;
  if (typeof retry !== 'object')
    return 'error' in outcome ? afterError(request, outcome.error) : afterResponse(outcome);
  const backoff = Math.min(longestPauseMs, firstPauseMs * 2 ** (sent - 1));
  const isInTime = performance.now() + backoff < retry.until;
  return isInTime && isTransientForWatch(outcome, isResumed(String(options.path))) ? backoff : undefined;
}

/** A caller without types may give anything. */
function methodOf({ method }: Dispatcher.DispatchOptions): string {
  return String(method).toUpperCase();
}

function afterError({ options, sent }: OutgoingRequest, error: Error): number | undefined {
  const lost = error instanceof ConnectionError && error.code === 'CONNECTION_LOST';
  // Once: a server that is only slow would not answer the next one sooner.
  const unanswered = sent === 1 && isUnanswered(error);
  return isUnprocessed(error) || ((lost || unanswered) && methodOf(options) === 'GET') ? lostPauseMs : undefined;
}

function afterResponse({ statusCode, headers }: Exclude<Outcome, { error: Error }>): number | undefined {
  const seconds = headers['retry-after'];
  if ((statusCode !== 429 && statusCode < 500) || seconds === undefined || !/^\d{1,6}$/.test(seconds)) return undefined;
  return Number(seconds) <= longestRetryAfter ? Number(seconds) * 1_000 : undefined;
}

/** Whether a watch may begin after this. A 401 here has outlived a refresh: the issuer may be away. */
function isTransientForWatch(outcome: Outcome, resumed: boolean): boolean {
  if ('statusCode' in outcome) return outcome.statusCode === 401 || transientStatuses.has(outcome.statusCode);
  const { error } = outcome;
  // The plugin of a watch that has worked may be missing because it is being replaced, and the warning says what it lacks.
  if (resumed && error instanceof PluginError) return error.code !== 'PLUGIN_STOPPED';
  // A response that cannot be read: a proxy in between may be starting or stopping.
  if (error instanceof RequestError && error.code === 'RESPONSE_INVALID') return true;
  return error instanceof CredentialsError && error.retryable;
}

/** Whether a watch continues from a version that its client has seen. */
export function isResumed(path: string): boolean {
  return /[?&]resourceVersion=[^&]*[1-9]/.test(path);
}
