/** Waits between retries: exponential backoff with jitter, cooldowns, and a count that decays. Pure. */

export interface BackoffLimits {
  /** The least wait after the first failure, in milliseconds. */
  readonly firstMs: number;
  /** The longest wait, in milliseconds. */
  readonly longestMs: number;
  /** The share of jitter that may be added: 1 for up to twice as long. */
  readonly jitter: number;
}

/** For plugins and connections: 1 s doubling to 30 s, a quarter of it jitter. */
const usual: BackoffLimits = { firstMs: 750, longestMs: 30_000, jitter: 1 / 3 };

/** For lists and watches, as in client-go's reflectors. */
export const watchBackoff: BackoffLimits = { firstMs: 800, longestMs: 30_000, jitter: 1 };

/** Returns the milliseconds to wait after the nth failure in a row, counted from 1. */
export function backoffMs(
  failures: number,
  { firstMs, longestMs, jitter }: BackoffLimits = usual,
  random: () => number = Math.random,
): number {
  // Jitter at the limit too: clients that failed together must not retry together.
  const base = Math.min(longestMs / (1 + jitter), firstMs * 2 ** Math.min(failures - 1, 40));
  return base * (1 + jitter * random());
}

/** Blocks retries for a while. Setting the clock back ends it, so that it never lasts longer than intended. */
export class Cooldown {
  #from = 0;
  #until = 0;

  /** Starts at `now`, for `ms` milliseconds. */
  set(now: number, ms: number): void {
    this.#from = now;
    this.#until = now + ms;
  }

  clear(): void {
    this.#until = 0;
  }

  /** Milliseconds left; 0 if it is over. */
  left(now: number): number {
    return now < this.#from || now >= this.#until ? 0 : this.#until - now;
  }
}

/** A count that falls by one every `everyMs` milliseconds, also after the clock was set back. */
export class LeakyBucket {
  readonly #everyMs: number;
  #level = 0;
  #at = 0;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  level(now: number): number {
    const passed = Math.max(0, now - this.#at);
    this.#level = Math.max(0, this.#level - passed / this.#everyMs);
    this.#at = now;
    return this.#level;
  }

  /** Adds one, up to `most`. */
  add(now: number, most: number): void {
    this.#level = Math.min(most, this.level(now) + 1);
  }
}
