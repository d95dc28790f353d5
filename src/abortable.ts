/**
 * The outcome of `work`, or the signal's reason if that comes first. The work goes on, and what it rejects with then is
 * ignored. A signal that is aborted already starts nothing.
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
    // The race listens to both: the one that loses is never an unhandled rejection.
    return await Promise.race([started(), aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
