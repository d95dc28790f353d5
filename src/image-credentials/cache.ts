/** The answers of a provider's plugin, kept for as long as they say. In memory only. */
import { ExpiringMap } from '../util/expiring-map.ts';
import type { ImageProvider } from './config.ts';
import { type CacheKeyType, cacheKeyTypes } from './protocol.ts';

/** What an answer is valid for, and for how long. `undefined` milliseconds: as the configuration says. */
export interface Lifetime {
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
