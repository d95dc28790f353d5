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

/** Silent but for warnings. */
export const defaultLogger: Logger = {
  warn: (_fields, message) => say(message),
};

/** How many different messages are remembered, so that they are not said again. */
const remembered = 1_000;
const said = new Set<string>();

/** For what a logger cannot be told, because it is what failed, perhaps with every line. The same words are said once. */
export function warnOnStderr(message: string): void {
  if (said.has(message)) return;
  if (said.size >= remembered) said.clear();
  said.add(message);
  say(message);
}

function say(message: string): void {
  console.warn(`clusterprofile-credentials: ${message}`);
}

const safeLoggers = new WeakMap<Logger, Logger>();

/** A caller's logger that never throws. The same for the same logger: what has been said once is remembered for it. */
export function safeLogger(logger: Logger): Logger {
  const known = safeLoggers.get(logger);
  if (known) return known;
  const tell = (level: 'debug' | 'info' | 'warn') => (fields: object, message: string) =>
    callSafely(`the logger's ${level}`, () => logger[level]?.(fields, message), warnOnStderr);
  const safe: Logger = {
    warn: tell('warn'),
    ...(logger.info ? { info: tell('info') } : {}),
    ...(logger.debug ? { debug: tell('debug') } : {}),
  };
  safeLoggers.set(logger, safe);
  return safe;
}
