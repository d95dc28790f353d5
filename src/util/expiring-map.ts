/** Milliseconds between two searches for expired entries. */
const purgeMs = 60_000;

interface Entry<V> {
  readonly value: V;
  readonly from: number;
  readonly until: number;
}

/**
 * A map whose entries expire. There is no timer: expired entries are removed when another one is stored. If the clock is set back to
 * before an entry was stored, its age is unknown, and it has expired.
 */
export class ExpiringMap<V> {
  readonly #clock: () => number;
  readonly #entries = new Map<string, Entry<V>>();
  #purgedAt = Number.NEGATIVE_INFINITY;

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
    this.#purge(now);
    if (ms > 0) this.#entries.set(key, { value, from: now, until: now + ms });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  #purge(now: number): void {
    if (Math.abs(now - this.#purgedAt) < purgeMs) return;
    this.#purgedAt = now;
    for (const [key, entry] of this.#entries) if (!isValid(entry, now)) this.#entries.delete(key);
  }
}

function isValid({ from, until }: Entry<unknown>, now: number): boolean {
  return now >= from && now <= until;
}
