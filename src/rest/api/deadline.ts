/** How long an API server is waited for. */
import { ApiError } from '../../errors/index.ts';
import type { Timers } from '../../util/abortable.ts';

/** Milliseconds until an API server must begin its answer, and between two parts of a list. The server itself gives up after 60 s. */
export const answerTimeoutMs = 60_000;

/** A signal that aborts with another one, or with `API_TIMEOUT` when the time that was set last has passed. */
export class Deadline {
  readonly #clock: Timers;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #onAbort = () => this.#controller.abort(this.#outer?.reason);
  #cancel = () => {};

  constructor(clock: Timers, outer?: AbortSignal) {
    this.#clock = clock;
    this.#outer = outer;
    if (outer?.aborted) this.#onAbort();
    else outer?.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts in `ms` milliseconds, and not at the time that was set before. */
  set(ms: number, message: string): void {
    this.#cancel();
    this.#cancel = this.#clock.after(ms, () => this.#controller.abort(new ApiError('API_TIMEOUT', message)));
  }

  /** Stops counting until the next `set`. */
  clear(): void {
    this.#cancel();
  }

  /** Stops counting, and aborts whatever of the request is still in progress. */
  end(): void {
    this.#cancel();
    this.#outer?.removeEventListener('abort', this.#onAbort);
    this.#controller.abort(new ApiError('API_TIMEOUT', 'the request has ended'));
  }
}

/**
 * Runs one request, and reads its response, within `ms` milliseconds.
 *
 * @throws {ApiError} `API_TIMEOUT` with `message` when the time has passed
 */
export async function within<T>(
  clock: Timers,
  ms: number,
  message: string,
  request: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new Deadline(clock);
  deadline.set(ms, message);
  try {
    return await request(deadline.signal);
  } finally {
    deadline.clear();
  }
}
