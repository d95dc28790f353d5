/**
 * Guards callbacks that must not fail this package: loggers, `onChange`, metrics. Such a function may throw, or return a promise that
 * rejects; neither may end the process, or break what this package is doing. If a failure has consequences, as that of `reconcile`
 * has, the function is called there.
 */
import { redact } from '../redaction/known-secrets.ts';
import { codeFieldOf } from '../util/guards.ts';

/** Reports a failed callback; `fields` has the error's code. */
type Report = (message: string, fields: { readonly code?: string }) => void;

/** Calls a caller's function, and reports what it throws or rejects with. `name` is for the message. */
export function callSafely(name: string, callback: () => unknown, report: Report): void {
  callCatching(callback, (error) => report(`${name} failed, and was ignored: ${reasonOf(error)}`, codeFieldOf(error)));
}

/** Calls a caller's function, and passes what it throws or rejects with to `failed`. */
export function callCatching(callback: () => unknown, failed: (error: unknown) => void): void {
  const fail = (error: unknown) => {
    try {
      failed(error);
    } catch {
      // There is no other place to report it.
    }
  };
  try {
    const result = callback();
    if (mayReject(result)) Promise.resolve(result).catch(fail);
  } catch (error) {
    fail(error);
  }
}

/** What a caller's function returned, or why that cannot be used. */
type Answer<T> = { readonly value: T } | { readonly problem: string };

/** Calls a caller's function for its value, which `read` checks, by throwing. It is needed at once, so a promise is refused. */
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

/** How many causes of an error are reported. */
const longestChain = 8;

/** An error as text, followed by its causes. Never throws, whatever the caller's error is. */
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
