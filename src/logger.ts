import { callSafely } from './callbacks.ts';

/**
 * Where this package reports what no caller is told. Fields come first, as pino has it; console prints them in front of the
 * message. Nothing in either is secret. A logger that throws, or rejects, is passed over.
 */
export interface Logger {
  debug?(fields: object, message: string): void;
  info?(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** How many different warnings are remembered, so that they are not said again. */
const remembered = 1_000;
const said = new WeakMap<object, Set<string>>();

/** Warns, but not a second time with the same words. */
export function warnOnce(logger: Logger, fields: object, message: string): void {
  if (isNew(logger, message)) logger.warn(fields, message);
}

function isNew(where: object, message: string): boolean {
  const messages = said.get(where) ?? new Set();
  said.set(where, messages);
  if (messages.has(message)) return false;
  if (messages.size >= remembered) messages.clear();
  messages.add(message);
  return true;
}

/** Silent but for warnings, each of them once. */
export const defaultLogger: Logger = {
  warn: (_fields, message) => warnOnStderr(message),
};

/** Also for what a logger cannot be told, because it is what failed. */
export function warnOnStderr(message: string): void {
  if (isNew(defaultLogger, message)) console.warn(`clusterprofile-credentials: ${message}`);
}

const safeLoggers = new WeakMap<Logger, Logger>();

/** A caller's logger that never throws. The same for the same logger: what has been said once is remembered for it. */
export function safeLogger(logger: Logger): Logger {
  const known = safeLoggers.get(logger);
  if (known) return known;
  const say = (level: 'debug' | 'info' | 'warn') => (fields: object, message: string) =>
    callSafely(`the logger's ${level}`, () => logger[level]?.(fields, message), warnOnStderr);
  const safe: Logger = {
    warn: say('warn'),
    ...(logger.info ? { info: say('info') } : {}),
    ...(logger.debug ? { debug: say('debug') } : {}),
  };
  safeLoggers.set(logger, safe);
  return safe;
}
