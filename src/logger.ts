import { callSafely } from './callbacks.ts';
import { printable } from './printable.ts';

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
  console.warn(`clusterprofile-credentials: ${oneLine(message, maxMessageBytes)}`);
}

/** The longest message that a logger is given, and the longest text of a field, in bytes. */
const maxMessageBytes = 8 * 1024;
const maxFieldBytes = 1024;

/** Every text for a logger goes through here: what profiles, servers and plugins wrote may neither forge a line of a log nor fill it. */
function oneLine(text: string, maxBytes: number): string {
  const near = text.length <= 2 * maxBytes ? text : `${text.slice(0, maxBytes)}${text.slice(-maxBytes)}`;
  // What has several lines, such as a plugin's stderr, can still be read.
  return printable(near.replaceAll('\n', '\\n'), maxBytes);
}

function withPlainTexts(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]: [string, unknown]) => [
      name,
      typeof value === 'string' ? oneLine(value, maxFieldBytes) : value,
    ]),
  );
}

const safeLoggers = new WeakMap<Logger, Logger>();

/** A caller's logger that never throws, and is given one line at a time. The same for the same logger. */
export function safeLogger(logger: Logger): Logger {
  const known = safeLoggers.get(logger);
  if (known) return known;
  const tell = (level: 'debug' | 'info' | 'warn') => (fields: object, message: string) =>
    callSafely(
      `the logger's ${level}`,
      () => logger[level]?.(withPlainTexts(fields), oneLine(message, maxMessageBytes)),
      warnOnStderr,
    );
  const safe: Logger = {
    warn: tell('warn'),
    ...(logger.info ? { info: tell('info') } : {}),
    ...(logger.debug ? { debug: tell('debug') } : {}),
  };
  safeLoggers.set(logger, safe);
  safeLoggers.set(safe, safe);
  return safe;
}
