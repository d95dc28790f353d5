/**
 * The one place that calls what a caller gave us to call: loggers, `onChange`, clocks, metrics, subscribers. Such a function
 * may throw, or return a promise that rejects; neither may end the process, or break what this package is doing.
 */
import { redact } from './exec/redact.ts';

/** Is told of a callback that failed. */
export type Report = (message: string) => void;

/** Calls a caller's function. What it throws or rejects with goes to `report`, and no further. `name` is for the message. */
export function callSafely(name: string, callback: () => unknown, report: Report): void {
  const failed = (error: unknown) => {
    try {
      report(`${name} failed, and was passed over: ${messageOf(error)}`);
    } catch {
      // There is nobody left to tell.
    }
  };
  try {
    const result = callback();
    const mayReject = (typeof result === 'object' && result !== null) || typeof result === 'function';
    if (mayReject) Promise.resolve(result).catch(failed);
  } catch (error) {
    failed(error);
  }
}

/** A clock that always gives a time: where the caller's gives none, it is the machine's. */
export function safeClock(clock: () => number, report: Report): () => number {
  return () => {
    let now: unknown;
    const read = () => {
      now = clock();
      return now;
    };
    callSafely('the clock', read, report);
    if (typeof now === 'number' && Number.isFinite(now)) return now;
    report('the clock gave no number of milliseconds: the time of this machine is used');
    return Date.now();
  };
}

/** Somebody else's error may be anything, and hold anything. */
function messageOf(error: unknown): string {
  try {
    return redact(error instanceof Error ? String(error.message) : String(error));
  } catch {
    return 'an error that cannot be printed';
  }
}
