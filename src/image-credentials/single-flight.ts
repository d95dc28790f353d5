import { backoffMs } from '../backoff.ts';
import { Hold } from '../hold.ts';

/** Milliseconds after the end of its hold until a failure is forgotten. After the clock was set back, also this long before the end. */
const forgetMs = 300_000;

interface Failure {
  readonly hold: Hold;
  readonly error: unknown;
  readonly count: number;
}

/**
 * Callers that ask for the same work at the same time share it. After a failure the work is held back: 1 s, doubling to 30 s.
 * Results are not kept.
 */
export class SingleFlight<T> {
  readonly #clock: () => number;
  readonly #heldBack: (error: unknown, leftMs: number) => unknown;
  readonly #running = new Map<string, Promise<T>>();
  readonly #failures = new Map<string, Failure>();
  #forgotAt = Number.NEGATIVE_INFINITY;

  /** `heldBack` makes the error for callers that ask while the work is held back. */
  constructor(clock: () => number, heldBack: (error: unknown, leftMs: number) => unknown) {
    this.#clock = clock;
    this.#heldBack = heldBack;
  }

  /** Never throws: a failure rejects. */
  run(key: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running) return running;
    const failure = this.#failures.get(key);
    const left = failure?.hold.left(this.#clock()) ?? 0;
    if (failure && left > 0) return Promise.reject(this.#heldBack(failure.error, left));
    const started = work()
      .then(
        (value) => {
          this.#failures.delete(key);
          return value;
        },
        (error: unknown) => {
          this.#fail(key, error);
          throw error;
        },
      )
      .finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }

  #fail(key: string, error: unknown): void {
    const now = this.#clock();
    this.#forget(now);
    const before = this.#failures.get(key);
    const count = before && !isOver(before, now) ? before.count + 1 : 1;
    const hold = new Hold();
    hold.set(now, backoffMs(count));
    this.#failures.set(key, { hold, error, count });
  }

  /** Not at every failure, since there may be many. */
  #forget(now: number): void {
    if (Math.abs(now - this.#forgotAt) < forgetMs) return;
    this.#forgotAt = now;
    for (const [key, failure] of this.#failures) if (isOver(failure, now)) this.#failures.delete(key);
  }
}

function isOver({ hold }: Failure, now: number): boolean {
  return Math.abs(now - hold.until) > forgetMs;
}
