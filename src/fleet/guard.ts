/** Functions of a controller's author are called through here: one that throws or rejects is logged, and ends nothing else. */
import { askSafely, callCatching, reasonOf } from '../callbacks.ts';
import type { Logger } from '../logger.ts';

/** What stands beside a message in a log: the cluster, the controller, the object. */
export type LogFields = Readonly<Record<string, string | undefined>>;

/** Calls it. What it throws, or what its promise rejects with, goes to the logger. */
export function guard(logger: Logger, fields: LogFields, what: string, call: () => unknown): void {
  callCatching(call, (error) => warn(logger, fields, `${what} failed: ${reasonOf(error)}`));
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

/** An API server's address for a log: a kubeconfig may have a password in it, before the host or in a query. */
export function shownServer(url: string): string {
  const { protocol, host, pathname } = URL.parse(url) ?? { protocol: '', host: '', pathname: '' };
  if (host !== '') return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
  // No URL, and where the password begins cannot be told.
  return url.replace(/^.*@/s, '').replace(/[?#].*$/s, '');
}

export function warn(logger: Logger, fields: LogFields, message: string): void {
  logger.warn(fields, message);
}

export function debug(logger: Logger, fields: LogFields, message: string): void {
  logger.debug?.(fields, message);
}
