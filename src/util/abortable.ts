/** Waiting, until a signal aborts: for work, for changes, for time, and for the signals of the system. */

/**
 * Returns the outcome of `work`, or rejects with the signal's reason if that comes first. The work continues, and its later rejection
 * is ignored. If the signal has already aborted, the work does not start.
 */
export async function abortable<T>(work: () => T | Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work();
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const started = async () => work();
  try {
    // The race handles both promises, so that the loser is not an unhandled rejection.
    return await Promise.race([started(), aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Lets others wait for what may hold after a change. */
export class Changes {
  readonly #waiting = new Set<() => void>();
  #isTold = false;

  /** Something has changed: whoever waits looks again, once for all changes of a turn. */
  readonly tell = (): void => {
    if (this.#isTold || this.#waiting.size === 0) return;
    this.#isTold = true;
    queueMicrotask(() => {
      this.#isTold = false;
      for (const look of this.#waiting) look();
    });
  };

  /** Resolves when the condition holds, which must not throw. Rejects with the signal's reason if that comes first. */
  async until(holds: () => boolean, signal?: AbortSignal): Promise<void> {
    if (holds()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (holds()) resolve();
    };
    this.#waiting.add(look);
    try {
      await abortable(() => promise, signal);
    } finally {
      this.#waiting.delete(look);
    }
  }
}

/** Calls `run` once after `ms` milliseconds, and returns the function that cancels it: the part of a clock that `pause` needs. */
export interface Timers {
  after(ms: number, run: () => void): () => void;
}

/** The longest time that `setTimeout` takes, in milliseconds. */
export const longestMs = 2 ** 31 - 1;

/** Waits of more than 24 days end after 24 days: callers check the time again. */
export const systemTimers: Timers = {
  after: (ms, run) => {
    const timer = setTimeout(run, Math.max(0, Math.min(ms, longestMs)));
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms` milliseconds. Rejects with the signal's reason if that comes first, and leaves no timer. */
export async function pause(ms: number, signal: AbortSignal, timers = systemTimers): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = timers.after(ms, resolve);
  try {
    await abortable(() => promise, signal);
  } finally {
    cancel();
  }
}

/**
 * Returns a signal that aborts at the first SIGTERM or SIGINT (Ctrl-C). A second one has Node's default effect: it ends the process at
 * once. Call it when the program starts, and pass it to `fleet.run`, `forEachCluster` and `LeaderElection`, which release their Leases.
 *
 * @example
 * await fleet.run({ signal: stopSignal() });
 */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  const names = ['SIGTERM', 'SIGINT'] as const;
  const onSignal = (name: NodeJS.Signals) => {
    for (const other of names) process.removeListener(other, onSignal);
    stop.abort(new DOMException(`stopped by ${name}`, 'AbortError'));
  };
  for (const name of names) process.on(name, onSignal);
  return stop.signal;
}
