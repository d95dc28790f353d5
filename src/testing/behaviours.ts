/** How a server is told to answer some requests in another way, to see what a client makes of it. */

import { validateHeaderValue } from 'node:http';
import { types } from 'node:util';
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

/** Which requests a behaviour is for. It answers at once: not `async`. */
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
    checkFunction('failNext: the filter', matches);
    this.#entries.push({ behaviour, matches, left: count });
  }

  /** The behaviour that is next for a request. */
  take(request: Seen): Behaviour | undefined {
    const entry = this.#entries.find(
      ({ matches }) => callNow('a filter of failNext', () => matches(request), 'boolean') === true,
    );
    if (!entry) return undefined;
    entry.left -= 1;
    if (entry.left === 0) this.#entries = this.#entries.filter((other) => other !== entry);
    return entry.behaviour;
  }
}

const statusFields = ['status', 'reason', 'message', 'retryAfterSeconds'];

function check(behaviour: unknown): void {
  if (behaviour === 'hang' || behaviour === 'reset') return;
  const given: Readonly<Record<string, unknown>> =
    typeof behaviour === 'number' ? { status: behaviour } : { ...Object(behaviour) }; // any value: each field is checked
  const { status, redirect, reason = '', message = '', retryAfterSeconds = 1 } = given;
  if (redirect === undefined && status === undefined) {
    throw new TypeError(
      `failNext: ${JSON.stringify(behaviour)} is none of a status, 'hang', 'reset', { redirect } and { status }`,
    );
  }
  const known = redirect === undefined ? statusFields : ['redirect'];
  const [unknown] = Object.keys(given).filter((field) => given[field] !== undefined && !known.includes(field));
  if (unknown !== undefined) throw new TypeError(`failNext: ${unknown} does not go with ${known[0]}`);
  if (redirect !== undefined) return checkRedirect(redirect);
  if (!(Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599)) {
    throw new RangeError(`failNext: the status must be a whole number from 400 to 599, not ${String(status)}`);
  }
  if (typeof reason !== 'string' || typeof message !== 'string') {
    throw new TypeError('failNext: reason and message must be text');
  }
  if (!(Number.isSafeInteger(retryAfterSeconds) && Number(retryAfterSeconds) >= 0)) {
    throw new RangeError(
      `failNext: retryAfterSeconds must be a whole number from 0 on, as the header is, and is ${String(retryAfterSeconds)}`,
    );
  }
}

function checkRedirect(redirect: unknown): void {
  if (typeof redirect !== 'string') throw new TypeError('failNext: redirect must be a URL');
  try {
    validateHeaderValue('location', redirect);
  } catch {
    throw new TypeError(`failNext: redirect must fit into a header, and ${JSON.stringify(redirect)} does not`);
  }
}

/**
 * What a function of the test's says of a request. An `async` one would answer too late: what it throws would be nobody's.
 * Throws a `TypeError` where it gives a promise, or anything else than what it should.
 */
export function callNow(name: string, work: () => unknown, gives: 'boolean' | 'anything'): unknown {
  const result = work();
  if (isThenable(result)) {
    // What becomes of it is told here already.
    Promise.resolve(result).catch(() => {});
    throw new TypeError(`${name} must not be async: the request waits for no promise`);
  }
  if (gives === 'boolean' && typeof result !== 'boolean') {
    throw new TypeError(`${name} must say true or false, not ${String(result)}`);
  }
  return result;
}

/** Throws a `TypeError` for what is no function, and for one that is async. */
export function checkFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw new TypeError(`${name} must be a function of a request`);
  if (types.isAsyncFunction(value)) throw new TypeError(`${name} must not be async: the request waits for no promise`);
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof Reflect.get(value, 'then') === 'function';

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
