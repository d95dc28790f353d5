/** How a server is told to answer some requests in another way, to see what a client makes of it. */

import { type Request, type Response, sendError } from './api/http.ts';
import { ApiError, reasons } from './api/status.ts';

/** How a request is answered instead of the usual way: a status, no answer at all, a broken connection, a redirect. */
export type Behaviour =
  | number
  | 'hang'
  | 'reset'
  | { readonly redirect: string }
  | {
      /** HTTP status, from 400 to 599. */
      readonly status: number;
      /** The reason in the Status body. Default: the one that Kubernetes has for the status. */
      readonly reason?: string;
      readonly message?: string;
      /** Sent as `Retry-After`. Default: 1 for a 429, else none. */
      readonly retryAfterSeconds?: number;
    };

/** Which requests a behaviour is for. */
export type RequestFilter<Seen> = (request: Seen) => boolean;

interface Entry<Seen> {
  readonly behaviour: Behaviour;
  readonly matches: RequestFilter<Seen>;
  left: number;
}

/** Behaviours in the order in which they were asked for. */
export class Behaviours<Seen> {
  #entries: Entry<Seen>[] = [];

  /** Throws a `TypeError` or `RangeError` for what is no behaviour, no count or no filter. */
  add(behaviour: Behaviour, count: number, matches: RequestFilter<Seen> = () => true): void {
    check(behaviour);
    if (!Number.isSafeInteger(count) || count < 1) {
      throw new RangeError(`failNext: count must be a whole number from 1 on, not ${String(count)}`);
    }
    if (typeof matches !== 'function') throw new TypeError('failNext: the filter must be a function of a request');
    this.#entries.push({ behaviour, matches, left: count });
  }

  /** The behaviour that is next for a request. */
  take(request: Seen): Behaviour | undefined {
    const entry = this.#entries.find(({ matches }) => matches(request));
    if (!entry) return undefined;
    entry.left -= 1;
    if (entry.left === 0) this.#entries = this.#entries.filter((other) => other !== entry);
    return entry.behaviour;
  }
}

function check(behaviour: unknown): void {
  if (behaviour === 'hang' || behaviour === 'reset') return;
  const { status, redirect, retryAfterSeconds = 1 } = Object(behaviour); // any value: each field is checked
  const code: unknown = typeof behaviour === 'number' ? behaviour : status;
  if (redirect === undefined && code === undefined) {
    throw new TypeError(
      `failNext: ${JSON.stringify(behaviour)} is none of a status, 'hang', 'reset', { redirect } and { status }`,
    );
  }
  if (redirect !== undefined && typeof redirect !== 'string') throw new TypeError('failNext: redirect must be a URL');
  if (redirect === undefined && !(Number.isInteger(code) && Number(code) >= 400 && Number(code) <= 599)) {
    throw new RangeError(`failNext: the status must be a whole number from 400 to 599, not ${String(code)}`);
  }
  if (!(Number.isFinite(retryAfterSeconds) && retryAfterSeconds >= 0)) {
    throw new RangeError(`failNext: retryAfterSeconds must not be negative, and is ${String(retryAfterSeconds)}`);
  }
}

/** Answers a request as a behaviour says. */
export function misbehave(behaviour: Behaviour, request: Request, response: Response): void {
  if (behaviour === 'hang') return;
  if (behaviour === 'reset') {
    if ('stream' in request) request.stream.close(2);
    else request.socket.destroy();
  } else if (typeof behaviour === 'object' && 'redirect' in behaviour) {
    response.setHeader('location', behaviour.redirect);
    response.statusCode = 307;
    response.end();
  } else {
    const given = typeof behaviour === 'number' ? { status: behaviour } : behaviour;
    const { status, reason = reasons[status] ?? 'Injected', message } = given;
    const { retryAfterSeconds = status === 429 ? 1 : undefined } = given;
    const details = retryAfterSeconds === undefined ? undefined : { retryAfterSeconds };
    const text = message ?? `this request was told to fail with ${status}`;
    sendError(request, response, new ApiError(status, reason, text, details));
  }
}
