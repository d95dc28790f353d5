const firstMs = 1_000;
const longestMs = 30_000;

/** Milliseconds to hold back after the nth failure in a row (from 1): 1 s doubling to 30 s, a quarter of it random. */
export function backoffMs(failures: number, random: () => number = Math.random): number {
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 10));
  return full * (0.75 + 0.25 * random());
}
