/** Time for everything in the fleet that waits, so that a test can control it. */
import { abortable } from '../abortable.ts';
import { longestMs } from '../access/duration.ts';
import { callSafely, type Report, safeClock } from '../callbacks.ts';

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds from some moment on that nobody can set back. */
  uptime(): number;
  /** Calls `run` once after `ms` milliseconds. Returns what cancels it. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  uptime: () => performance.now(),
  after: (ms, run) => {
    let timer: NodeJS.Timeout;
    // setTimeout takes no more than 25 days: what is longer is waited for in parts.
    const wait = (left: number) => {
      timer = left > longestMs ? setTimeout(wait, longestMs, left - longestMs) : setTimeout(run, Math.max(0, left));
    };
    wait(ms);
    return () => clearTimeout(timer);
  },
};

/** A caller's clock. Where it fails, this machine's goes on from what it said last. */
export function safeFleetClock(clock: Clock, report: Report): Clock {
  let [last, lastAt] = [0, performance.now()];
  const uptime = () => {
    const machine = performance.now();
    let said: unknown;
    callSafely("the clock's uptime", () => (said = clock.uptime()), report);
    if (typeof said !== 'number' || !Number.isFinite(said)) {
      report("the clock's uptime gave no number of milliseconds: this machine's time is used");
      said = last + machine - lastAt;
    }
    [last, lastAt] = [said as number, machine]; // looked at above
    return last;
  };
  const after = (ms: number, run: () => void) => {
    let cancel: unknown;
    callSafely("the clock's after", () => (cancel = clock.after(ms, run)), report);
    if (typeof cancel !== 'function') {
      report("the clock's after returned nothing that cancels: this machine's timer is used");
      return systemClock.after(ms, run);
    }
    const cancelIt = cancel;
    return () => callSafely("the clock's cancelling", () => Reflect.apply(cancelIt, undefined, []), report);
  };
  return { now: safeClock(() => clock.now(), report), uptime, after };
}

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
