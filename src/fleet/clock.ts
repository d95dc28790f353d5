/** Time for everything in the fleet that waits, so that a test can hold it in its hand. */
import { abortable } from '../abortable.ts';

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds from some moment on that nobody can set back. */
  uptime(): number;
  /** Calls `run` once after `ms` milliseconds. Returns what cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** setTimeout takes no more. */
const longestMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  uptime: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, Math.min(ms, longestMs));
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
