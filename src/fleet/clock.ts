/** Time for everything in the fleet that waits, so that a test can control it. */

import { longestMs } from '../access/duration.ts';
import { abortable } from '../util/abortable.ts';

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Monotonic milliseconds. */
  uptime(): number;
  /** Calls `run` once after `ms` milliseconds. Returns the function that cancels it. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  uptime: () => performance.now(),
  after: (ms, run) => {
    let timer: NodeJS.Timeout;
    // setTimeout takes 25 days at most: a longer wait has several parts.
    const wait = (left: number) => {
      timer = left > longestMs ? setTimeout(wait, longestMs, left - longestMs) : setTimeout(run, Math.max(0, left));
    };
    wait(ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms` milliseconds. Rejects with the signal's reason if that comes first. */
export async function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  let cancel = () => {};
  try {
    await abortable(
      () =>
        new Promise<void>((resolve) => {
          cancel = clock.after(ms, resolve);
        }),
      signal,
    );
  } finally {
    cancel();
  }
}
