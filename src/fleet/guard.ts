/** Functions of a controller's author are called through here: one that throws or rejects is logged, and ends nothing else. */
import { type Logger, warnOnStderr } from '../logger.ts';

/** What stands beside a message in a log: the cluster, the controller, the object. */
export type LogFields = Readonly<Record<string, string | undefined>>;

/** Calls it. What it throws, or what its promise rejects with, goes to the logger. */
export function guard(logger: Logger, fields: LogFields, what: string, call: () => unknown): void {
  try {
    const result = call();
    if (result instanceof Promise) result.catch((error: unknown) => tell(logger, fields, what, error));
  } catch (error) {
    tell(logger, fields, what, error);
  }
}

function tell(logger: Logger, fields: LogFields, what: string, error: unknown): void {
  warn(logger, fields, `${what} failed: ${reasonOf(error)}`);
}

/** Warns, and lives with a logger that throws or rejects. */
export function warn(logger: Logger, fields: LogFields, message: string): void {
  say(logger, 'warn', fields, message);
}

export function debug(logger: Logger, fields: LogFields, message: string): void {
  say(logger, 'debug', fields, message);
}

function say(logger: Logger, level: 'warn' | 'debug', fields: LogFields, message: string): void {
  try {
    const said: unknown = logger[level]?.(fields, message);
    if (said instanceof Promise) said.catch(() => undefined);
  } catch (error) {
    warnOnStderr(`a logger threw: ${reasonOf(error)}`);
  }
}

/** An error in one line, its causes after it. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.message === '' ? error.name : error.message;
  const { cause } = error;
  if (!(cause instanceof Error) || cause.message === '' || text.includes(cause.message)) return text;
  return `${text}: ${reasonOf(cause)}`;
}
