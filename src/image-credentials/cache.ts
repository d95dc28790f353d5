/** The answers of a provider's plugin, kept for as long as they say. In memory only. */
import type { ImageProvider } from './config.ts';
import { type CacheKeyType, cacheKeyTypes } from './protocol.ts';

/** Milliseconds between two searches for expired entries. */
const purgeMs = 900_000;

/** What an answer is valid for, and for how long. `undefined` milliseconds: as the configuration says. */
export interface Lifetime {
  readonly cacheKeyType: CacheKeyType;
  readonly cacheDurationMs: number | undefined;
}

export class ImageCache<T> {
  readonly #defaultMs: number;
  readonly #clock: () => number;
  readonly #entries = new Map<string, { readonly value: T; readonly expiresAt: number }>();
  #purgedAt: number;
  /** The time of the last look-up or store. */
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

  /** Keeps an answer, an empty one too, unless its duration is zero. Without a duration the default counts. */
  set(image: string, account: string, value: T, { cacheKeyType, cacheDurationMs = this.#defaultMs }: Lifetime): void {
    // A negative duration would be stored expired.
    if (cacheDurationMs <= 0) return;
    this.#entries.set(keyOf(cacheKeyType, image, account), { value, expiresAt: this.#now() + cacheDurationMs });
  }

  clear(): void {
    this.#entries.clear();
  }

  /** After the clock was set back, the age of an entry is not known: it could be used long after its end. */
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

/** A registry may be asked for like an image. An answer with the type `Image` for it is not valid for its images. */
function keyOf(type: CacheKeyType, image: string, account: string): string {
  const scope = { Image: image, Registry: registryOf(image), Global: '' }[type];
  return JSON.stringify([type, scope, account]);
}
