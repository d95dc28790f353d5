/** What is kept in memory: the answers of plugins for as long as they say, and one run for callers that ask for the same at once. */

import { backoffMs, Cooldown } from '../util/backoff.ts';
import type { ImageProvider } from './config.ts';
import { type CacheKeyType, cacheKeyTypes } from './protocol.ts';

/** What an answer is valid for, and for how long. `undefined` milliseconds: as the configuration says. */
interface Lifetime {
  readonly cacheKeyType: CacheKeyType;
  readonly cacheDurationMs: number | undefined;
}

export class ImageCache<T> {
  readonly #defaultMs: number;
  readonly #entries: ExpiringMap<T>;

  constructor({ defaultCacheDurationMs }: ImageProvider, clock: () => number) {
    this.#defaultMs = defaultCacheDurationMs;
    this.#entries = new ExpiringMap(clock);
  }

  /** KEP-2133: the image's own entry, then its registry's, then the provider's. `account` keeps service accounts apart. */
  get(image: string, account: string): T | undefined {
    for (const type of cacheKeyTypes) {
      const value = this.#entries.get(keyOf(type, image, account));
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** Keeps an answer, an empty one too, unless its duration is zero. Without a duration the default counts. */
  set(image: string, account: string, value: T, { cacheKeyType, cacheDurationMs = this.#defaultMs }: Lifetime): void {
    this.#entries.set(keyOf(cacheKeyType, image, account), value, cacheDurationMs);
  }

  clear(): void {
    this.#entries.clear();
  }
}

/** The registry with its port. */
export function registryOf(image: string): string {
  return image.split('/', 1)[0] ?? '';
}

/** A registry may be asked for like an image. An answer with the type `Image` for it is not valid for its images. */
function keyOf(type: CacheKeyType, image: string, account: string): string {
  const scope = { Image: image, Registry: registryOf(image), Global: '' }[type];
  return JSON.stringify([type, scope, account]);
}

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
