/**
 * Where this package reports what no caller is told. Fields come first, as pino has it; console prints them in front of the
 * message. Nothing in either is secret.
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
  warn: (_fields, message) => {
    if (isNew(defaultLogger, message)) console.warn(`clusterprofile-credentials: ${message}`);
  },
};
