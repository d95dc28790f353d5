import { backoffMs, Cooldown } from '../util/backoff.ts';
import { ExpiringMap } from '../util/expiring-map.ts';

/** Milliseconds after the end of its cooldown until a failure is forgotten. */
const forgetMs = 300_000;

interface Failure {
  readonly cooldown: Cooldown;
  readonly error: unknown;
  readonly count: number;
}

/**
 * Callers that ask for the same work at the same time share it. After a failure there is a cooldown of 1 s, doubling to 30 s.
 * Results are not cached.
 */
export class SingleFlight<T> {
  readonly #clock: () => number;
  readonly #duringCooldown: (error: unknown, leftMs: number) => unknown;
  readonly #running = new Map<string, Promise<T>>();
  readonly #failures: ExpiringMap<Failure>;

  /** `duringCooldown` makes the error for callers that ask during the cooldown. */
  constructor(clock: () => number, duringCooldown: (error: unknown, leftMs: number) => unknown) {
    this.#clock = clock;
    this.#duringCooldown = duringCooldown;
    this.#failures = new ExpiringMap(clock);
  }

  /** Never throws: a failure rejects. */
  run(key: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running) return running;
    const failure = this.#failures.get(key);
    const left = failure?.cooldown.left(this.#clock()) ?? 0;
    if (failure && left > 0) return Promise.reject(this.#duringCooldown(failure.error, left));
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
    const count = (this.#failures.get(key)?.count ?? 0) + 1;
    const cooldown = new Cooldown();
    const ms = backoffMs(count);
    cooldown.set(this.#clock(), ms);
    this.#failures.set(key, { cooldown, error, count }, ms + forgetMs);
  }
}
