/** How long to wait after failures in a row: doubling, with jitter, up to a limit. Pure. */

export interface BackoffLimits {
  /** Milliseconds that the wait after the first failure is at least. */
  readonly firstMs: number;
  /** Milliseconds that no wait exceeds. */
  readonly longestMs: number;
  /** How much longer a wait may be by chance: 1 for twice as long. */
  readonly jitter: number;
}

/** For plugins and connections: 1 s doubling to 30 s, a quarter of it by chance. */
const usual: BackoffLimits = { firstMs: 750, longestMs: 30_000, jitter: 1 / 3 };

/** Milliseconds to wait after the nth failure in a row, counted from 1. */
export function backoffMs(
  failures: number,
  { firstMs, longestMs, jitter }: BackoffLimits = usual,
  random: () => number = Math.random,
): number {
  // The jitter stays at the limit too: what failed together must not come back together.
  const base = Math.min(longestMs / (1 + jitter), firstMs * 2 ** Math.min(failures - 1, 40));
  return base * (1 + jitter * random());
}
