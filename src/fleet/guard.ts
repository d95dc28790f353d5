/** Calls functions of the caller: an error is logged, and nothing else ends with it. */
import { askSafely, callCatching, reasonOf } from '../observability/callbacks.ts';
import type { Logger } from '../observability/logger.ts';
import { codeFieldOf } from '../util/guards.ts';

/** The fields of a log line: the cluster, the controller, the object. */
export type LogFields = Readonly<Record<string, string | undefined>>;

/** Calls it, and logs what it throws, or what its promise rejects with. */
export function guard(logger: Logger, fields: LogFields, what: string, call: () => unknown): void {
  callCatching(call, (error) =>
    logger.warn({ ...fields, ...codeFieldOf(error) }, `${what} failed: ${reasonOf(error)}`),
  );
}

/**
 * Calls it for its value, which `read` checks: it throws if the value cannot be used. Returns `undefined`, and logs why, if there is
 * no value.
 */
export function ask<T>(
  logger: Logger,
  fields: LogFields,
  what: string,
  call: () => unknown,
  read: (returned: unknown) => T,
): T | undefined {
  const answer = askSafely(call, read);
  if ('value' in answer) return answer.value;
  logger.warn(fields, `${what} failed: ${answer.problem}`);
  return undefined;
}
