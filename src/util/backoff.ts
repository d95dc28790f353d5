/** Exponential backoff with jitter, up to a limit. Pure. */

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
