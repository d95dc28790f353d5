/**
 * Resolves after so many milliseconds. Rejects with the reason of the first signal that is aborted, and leaves no timer that would
 * keep the process up.
 */
export function pause(ms: number, signals: readonly (AbortSignal | undefined)[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = signals.find((signal) => signal?.aborted);
    if (aborted) {
      reject(aborted.reason);
      return;
    }
    const end = (settle: () => void) => {
      clearTimeout(timer);
      for (const [index, signal] of signals.entries()) signal?.removeEventListener('abort', listeners[index] ?? over);
      settle();
    };
    const over = () => end(resolve);
    const listeners = signals.map((signal) => () => end(() => reject(signal?.reason)));
    const timer = setTimeout(over, ms);
    for (const [index, signal] of signals.entries()) signal?.addEventListener('abort', listeners[index] ?? over);
  });
}
