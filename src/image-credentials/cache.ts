/** What is kept in memory: values for as long as they are valid, and one run for callers that ask for the same at once. */
import { backoffMs } from '../util/backoff.ts';

interface Entry<V> {
  readonly value: V;
  readonly from: number;
  readonly until: number;
}

/** A map whose entries expire, also if the clock is set back to before they were stored. They are removed when another one is stored. */
export class ExpiringMap<V> {
  readonly #clock: () => number;
  readonly #entries = new Map<string, Entry<V>>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    return entry && isValid(entry, this.#clock()) ? entry.value : undefined;
  }

  /** Keeps a value for `ms` milliseconds; not at all for 0 or less. */
  set(key: string, value: V, ms: number): void {
    const now = this.#clock();
    for (const [other, entry] of this.#entries) if (!isValid(entry, now)) this.#entries.delete(other);
    if (ms > 0) this.#entries.set(key, { value, from: now, until: now + ms });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}

function isValid({ from, until }: Entry<unknown>, now: number): boolean {
  return now >= from && now <= until;
}

/** Milliseconds after the end of its cooldown until a failure is forgotten. */
const forgetMs = 300_000;

interface Failure {
  readonly error: unknown;
  readonly count: number;
  /** The end of the cooldown. */
  readonly until: number;
}

/** Callers that ask for the same work at once share it. After a failure there is a cooldown of 1 s, doubling to 30 s. */
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
    const leftMs = failure ? failure.until - this.#clock() : 0;
    if (failure && leftMs > 0) return Promise.reject(this.#duringCooldown(failure.error, leftMs));
    const started = this.#attempt(key, work).finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }

  async #attempt(key: string, work: () => Promise<T>): Promise<T> {
    try {
      const value = await work();
      this.#failures.delete(key);
      return value;
    } catch (error) {
      const count = (this.#failures.get(key)?.count ?? 0) + 1;
      const ms = backoffMs(count);
      this.#failures.set(key, { error, count, until: this.#clock() + ms }, ms + forgetMs);
      throw error;
    }
  }
}
