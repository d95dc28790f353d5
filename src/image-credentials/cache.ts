/** What plugins answered, for as long as they said. One cache for each provider; in memory only. */
import type { ImageProvider } from './config.ts';
import { type CacheKeyType, cacheKeyTypes } from './protocol.ts';

/** Milliseconds between two looks for what has expired. */
const purgeMs = 900_000;

/** What an answer is good for, and for how long: `undefined` milliseconds leave it to the configuration. */
export interface Lifetime {
  readonly cacheKeyType: CacheKeyType;
  readonly cacheDurationMs: number | undefined;
}

export class ImageCache<T> {
  readonly #defaultMs: number;
  readonly #clock: () => number;
  readonly #entries = new Map<string, { readonly value: T; readonly expiresAt: number }>();
  #purgedAt: number;
  /** When something was looked up or stored last. */
  #latest: number;

  constructor({ defaultCacheDurationMs }: ImageProvider, clock: () => number) {
    this.#defaultMs = defaultCacheDurationMs;
    this.#clock = clock;
    this.#purgedAt = clock();
    this.#latest = this.#purgedAt;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** KEP-2133: the image's own entry, then its registry's, then the provider's. `account` keeps service accounts apart. */
  get(image: string, account: string): T | undefined {
    const now = this.#now();
    this.#purge(now);
    for (const type of cacheKeyTypes) {
      const key = keyOf(type, image, account);
      const entry = this.#entries.get(key);
      if (entry && now <= entry.expiresAt) return entry.value;
      if (entry) this.#entries.delete(key);
    }
    return undefined;
  }

  /** Keeps an answer, an empty one too, unless its duration, or the default where it has none, is zero. */
  set(image: string, account: string, value: T, { cacheKeyType, cacheDurationMs = this.#defaultMs }: Lifetime): void {
    // A negative duration would be stored expired.
    if (cacheDurationMs <= 0) return;
    this.#entries.set(keyOf(cacheKeyType, image, account), { value, expiresAt: this.#now() + cacheDurationMs });
  }

  clear(): void {
    this.#entries.clear();
  }

  /** A clock that was set back no longer tells how old an entry is: it could be served long after its end. */
  #now(): number {
    const now = this.#clock();
    if (now < this.#latest) {
      this.#entries.clear();
      this.#purgedAt = now;
    }
    this.#latest = now;
    return now;
  }

  /** No timer: this happens when something is looked up. */
  #purge(now: number): void {
    if (now - this.#purgedAt <= purgeMs) return;
    this.#purgedAt = now;
    for (const [key, { expiresAt }] of this.#entries) if (now > expiresAt) this.#entries.delete(key);
  }
}

/** The registry with its port. */
export function registryOf(image: string): string {
  return image.split('/', 1)[0] ?? '';
}

/** A registry may be asked for as if it were an image: what was answered for it alone is not good for its images. */
function keyOf(type: CacheKeyType, image: string, account: string): string {
  const scope = { Image: image, Registry: registryOf(image), Global: '' }[type];
  return JSON.stringify([type, scope, account]);
}
