/** What plugins answered, for as long as they said. One cache for each provider; in memory only. */
import type { ImageProvider } from './config.ts';
import type { ImageResponse } from './protocol.ts';

/** Milliseconds between two looks for what has expired. */
const purgeMs = 900_000;

export class ImageCache {
  readonly #defaultMs: number;
  readonly #clock: () => number;
  readonly #entries = new Map<string, { readonly response: ImageResponse; readonly expiresAt: number }>();
  #purgedAt: number;

  constructor({ defaultCacheDurationMs }: ImageProvider, clock: () => number) {
    this.#defaultMs = defaultCacheDurationMs;
    this.#clock = clock;
    this.#purgedAt = clock();
  }

  get size(): number {
    return this.#entries.size;
  }

  /** KEP-2133: the image's own entry, then its registry's, then the provider's. `account` keeps service accounts apart. */
  get(image: string, account: string): ImageResponse | undefined {
    const now = this.#clock();
    this.#purge(now);
    for (const base of [image, registryOf(image), '<global>']) {
      const key = keyOf(base, account);
      const entry = this.#entries.get(key);
      if (entry && now <= entry.expiresAt) return entry.response;
      if (entry) this.#entries.delete(key);
    }
    return undefined;
  }

  /** Keeps a response, an empty one too, unless its duration, or the default where it has none, is zero. */
  set(image: string, account: string, response: ImageResponse): void {
    const { cacheKeyType, cacheDurationMs = this.#defaultMs } = response;
    // A negative duration would be stored expired.
    if (cacheDurationMs <= 0) return;
    const base = { Image: image, Registry: registryOf(image), Global: '<global>' }[cacheKeyType];
    this.#entries.set(keyOf(base, account), { response, expiresAt: this.#clock() + cacheDurationMs });
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

function keyOf(base: string, account: string): string {
  return JSON.stringify([base, account]);
}
