/**
 * The one place that calls what a caller gave us to call: loggers, `onChange`, clocks, metrics, subscribers. Such a function
 * may throw, or return a promise that rejects; neither may end the process, or break what this package is doing.
 */
import { redact } from './redaction/redact.ts';

/** Is told of a callback that failed. */
export type Report = (message: string) => void;

/** Calls a caller's function. What it throws or rejects with goes to `report`, and no further. `name` is for the message. */
export function callSafely(name: string, callback: () => unknown, report: Report): void {
  callCatching(callback, (error) => report(`${name} failed, and was passed over: ${reasonOf(error)}`));
}

/** Calls a caller's function. What it throws or rejects with goes to `failed`, and no further. */
export function callCatching(callback: () => unknown, failed: (error: unknown) => void): void {
  const tell = (error: unknown) => {
    try {
      failed(error);
    } catch {
      // There is nobody left to tell.
    }
  };
  try {
    const result = callback();
    if (mayReject(result)) Promise.resolve(result).catch(tell);
  } catch (error) {
    tell(error);
  }
}

/** What a caller's function says, or why it says nothing. */
export type Answer<T> = { readonly value: T } | { readonly problem: string };

/**
 * Asks a caller's function for something. `read` looks at what it returned, and throws where that is of no use. A promise is
 * of no use, whatever it becomes: the answer is wanted now.
 */
export function askSafely<T>(callback: () => unknown, read: (returned: unknown) => T): Answer<T> {
  try {
    const returned = callback();
    if (mayReject(returned) && typeof Reflect.get(returned, 'then') === 'function') {
      Promise.resolve(returned).catch(() => undefined);
      return { problem: 'it returned a promise: it must not be async' };
    }
    return { value: read(returned) };
  } catch (error) {
    return { problem: reasonOf(error) };
  }
}

function mayReject(result: unknown): result is object {
  return (typeof result === 'object' && result !== null) || typeof result === 'function';
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

/** How many causes of an error are told. */
const longestChain = 8;

/** An error as a text, its causes after it. Never throws: somebody else's error may be anything, and hold anything. */
export function reasonOf(error: unknown): string {
  return redact(textOf(error, longestChain));
}

function textOf(error: unknown, causes: number): string {
  try {
    if (!(error instanceof Error)) return String(error);
    const message = String(error.message);
    const text = message === '' ? String(error.name) : message;
    const { cause } = error;
    if (causes === 0 || !(cause instanceof Error)) return text;
    const causeText = textOf(cause, causes - 1);
    const isSaid = String(cause.message) === '' || text.includes(String(cause.message));
    return isSaid ? text : `${text}: ${causeText}`;
  } catch {
    return 'an error that cannot be printed';
  }
}
