/** Failures that a test asks for. */

import { type Request, type Response, sendError } from './api/http.ts';
import { ApiError, reasons } from './api/status.ts';
import type { SeenRequest } from './fake-cluster-options.ts';

/** How a request fails: with a status, no answer, a broken connection, or a redirect. */
export type Behaviour =
  | number
  | 'hang'
  | 'reset'
  | { readonly redirect: string }
  | {
      /** HTTP status, from 400 to 599. */
      readonly status: number;
      /**
       * The reason in the Status body.
       * @default the one that Kubernetes has for the status
       */
      readonly reason?: string;
      readonly message?: string;
      /**
       * Sent as `Retry-After`.
       * @default 1 for a 429, else none
       */
      readonly retryAfterSeconds?: number;
    };

/** Selects the requests of a behaviour. */
export type RequestFilter = (request: SeenRequest) => boolean;

interface Entry {
  readonly behaviour: Behaviour;
  readonly matches: RequestFilter;
  left: number;
}

/** Behaviours in the order in which the test asked for them. */
export class Behaviours {
  #entries: Entry[] = [];

  add(behaviour: Behaviour, count: number, matches: RequestFilter = () => true): void {
    this.#entries.push({ behaviour, matches, left: count });
  }

  /** Takes the next behaviour for a request. */
  take(request: SeenRequest): Behaviour | undefined {
    const entry = this.#entries.find(({ matches }) => matches(request));
    if (!entry) return undefined;
    entry.left -= 1;
    if (entry.left === 0) this.#entries = this.#entries.filter((other) => other !== entry);
    return entry.behaviour;
  }
}

/** Answers a request with a behaviour. */
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
    const text = message ?? `failNext asked for ${status}`;
    sendError(request, response, new ApiError(status, reason, text, details));
  }
}
