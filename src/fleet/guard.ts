/** Calls functions of the caller: an error is logged, and nothing else ends with it. */
import { askSafely, callCatching, reasonOf } from '../observability/callbacks.ts';
import type { Logger } from '../observability/logger.ts';
import { codeFieldOf } from '../util/errno.ts';

/** The fields of a log line: the cluster, the controller, the object. */
export type LogFields = Readonly<Record<string, string | undefined>>;

/** Calls it. What it throws, or what its promise rejects with, goes to the logger. */
export function guard(logger: Logger, fields: LogFields, what: string, call: () => unknown): void {
  callCatching(call, (error) =>
    warn(logger, { ...fields, ...codeFieldOf(error) }, `${what} failed: ${reasonOf(error)}`),
  );
}

/**
 * Asks it for something; `read` throws where what it returned is of no use. `undefined` where there is no answer, which the
 * logger is told.
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
  warn(logger, fields, `${what} failed: ${answer.problem}`);
  return undefined;
}

export function warn(logger: Logger, fields: LogFields, message: string): void {
  logger.warn(fields, message);
}

export function debug(logger: Logger, fields: LogFields, message: string): void {
  logger.debug?.(fields, message);
}
