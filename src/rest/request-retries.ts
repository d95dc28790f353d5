/**
 * When a generated client's request is sent again, as client-go does it: after a 429 or a 5xx with `Retry-After`, and a GET whose
 * connection was lost. A list of what is watched as well belongs to an informer, which must not stop: it goes on for longer.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { ConnectionError, CredentialsError, RequestError } from '../errors.ts';
import { passingStatuses } from './statuses.ts';
import type { ClusterLog } from './transport/cluster-log.ts';

/** How often an informer's list is sent again: for about 15 s. */
const maxInformerRetries = 5;
/** How often a request is sent again, as client-go has it. */
const maxRetries = 10;
/** Milliseconds before a GET whose connection was lost is sent again, as client-go has it. */
const lostPauseMs = 1_000;
/** Milliseconds between tries of an informer's list. */
const firstPauseMs = 500;
const longestPauseMs = 8_000;
/** The longest time that a server may ask a client to wait, in seconds: an answer that asks for more is the caller's. */
const longestRetryAfter = 60;
/** How many watched paths are remembered. */
const maxWatched = 1_000;

/** How a try ended. */
export type Outcome =
  | { readonly statusCode: number; readonly headers: IncomingHttpHeaders }
  | { readonly error: unknown };

export class RequestRetries {
  readonly #log: Pick<ClusterLog, 'debug'>;
  readonly #watched = new Set<string>();

  constructor(log: Pick<ClusterLog, 'debug'>) {
    this.#log = log;
  }

  /** A watch of a path has begun. */
  watching(path: string): void {
    if (this.#watched.size >= maxWatched) this.#watched.clear();
    this.#watched.add(withoutQuery(path));
  }

  /** Milliseconds until the next try, or `undefined` where this outcome is the caller's. `tries` counts from 1. */
  pauseAfter(method: string, path: string, tries: number, outcome: Outcome): number | undefined {
    if (tries > maxRetries) return undefined;
    const pauseMs = this.#pause(method, path, tries, outcome);
    if (pauseMs !== undefined) {
      const why = 'error' in outcome ? String(outcome.error) : `status ${outcome.statusCode}`;
      this.#log.debug(`${method} ${withoutQuery(path)} is sent again in ${pauseMs} ms: ${why}`, { tries });
    }
    return pauseMs;
  }

  #pause(method: string, path: string, tries: number, outcome: Outcome): number | undefined {
    const informer = method === 'GET' && tries <= maxInformerRetries && this.#watched.has(withoutQuery(path));
    const backoff = Math.min(longestPauseMs, firstPauseMs * 2 ** (tries - 1));
    if ('error' in outcome) {
      if (informer && isBrokenAnswer(outcome.error)) return backoff;
      if (method !== 'GET' || !(outcome.error instanceof CredentialsError) || !outcome.error.retryable)
        return undefined;
      if (informer) return backoff;
      return outcome.error instanceof ConnectionError && outcome.error.code === 'CONNECTION_LOST'
        ? lostPauseMs
        : undefined;
    }
    const { statusCode, headers } = outcome;
    const seconds = headers['retry-after'];
    if ((statusCode === 429 || statusCode >= 500) && seconds !== undefined && /^\d{1,6}$/.test(seconds)) {
      if (Number(seconds) <= longestRetryAfter) return Number(seconds) * 1_000;
    }
    return informer && (statusCode === 401 || passingStatuses.has(statusCode)) ? backoff : undefined;
  }
}

/** An answer that cannot be read: what stands between may be going or coming, so that an informer does well to ask again. */
export function isBrokenAnswer(error: unknown): boolean {
  return error instanceof RequestError && error.code === 'RESPONSE_INVALID';
}

function withoutQuery(path: string): string {
  const query = path.indexOf('?');
  return query < 0 ? path : path.slice(0, query);
}
