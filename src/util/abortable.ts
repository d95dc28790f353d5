/**
 * Returns the outcome of `work`, or rejects with the signal's reason if that comes first. The work continues, and its later rejection
 * is ignored. If the signal has already aborted, the work does not start.
 */
export async function abortable<T>(work: () => T | Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work();
  signal.throwIfAborted();
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  const started = async () => work();
  try {
    // The race handles both promises, so that the loser is not an unhandled rejection.
    return await Promise.race([started(), aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Resolves after `ms` milliseconds. Rejects with the signal's reason if that comes first, and leaves no timer. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const passed = () =>
    new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
  try {
    await abortable(passed, signal);
  } finally {
    clearTimeout(timer);
  }
}
