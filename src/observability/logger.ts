import { printable } from '../util/printable.ts';
import { callSafely } from './callbacks.ts';

/**
 * Receives what this package cannot report to a caller. Fields come first, as in pino; console prints them in front of the message.
 * Neither contains a secret. A logger that throws or rejects is ignored.
 */
export interface Logger {
  debug?(fields: object, message: string): void;
  info?(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Prints warnings, and nothing else. */
export const defaultLogger: Logger = {
  warn: (fields, message) => print(message, Reflect.get(fields, 'code')),
};

/** How many different messages are remembered, so that they are not repeated. */
const remembered = 1_000;
const printed = new Set<string>();

/** Reports a failure of the logger itself, which may fail with every line. Each message is printed once. */
export function warnOnStderr(message: string): void {
  if (printed.has(message)) return;
  if (printed.size >= remembered) printed.clear();
  printed.add(message);
  print(message);
}

function print(message: string, code?: unknown): void {
  const shown = typeof code === 'string' ? ` [${code}]` : '';
  console.warn(`clusterprofile-credentials${shown}: ${oneLine(message, maxMessageBytes)}`);
}

/** The longest message and the longest field for a logger, in bytes. */
const maxMessageBytes = 8 * 1024;
const maxFieldBytes = 1024;

/** Every text for a logger goes through here: profiles, servers and plugins must neither forge nor flood log lines. */
function oneLine(text: string, maxBytes: number): string {
  // Only what is kept of a text is read, which may have millions of lines.
  const near = text.length <= 2 * maxBytes ? text : `${text.slice(0, maxBytes)}${text.slice(-maxBytes)}`;
  // Keeps text of several lines readable, such as a plugin's stderr.
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

/** Wraps a caller's logger so that it never throws, and gets one line at a time. Returns the same wrapper for the same logger. */
export function safeLogger(logger: Logger): Logger {
  const known = safeLoggers.get(logger);
  if (known) return known;
  const log = (level: 'debug' | 'info' | 'warn') => (fields: object, message: string) =>
    callSafely(
      `the logger's ${level}`,
      () => logger[level]?.(withPlainTexts(fields), oneLine(message, maxMessageBytes)),
      warnOnStderr,
    );
  const safe: Logger = {
    warn: log('warn'),
    ...(logger.info ? { info: log('info') } : {}),
    ...(logger.debug ? { debug: log('debug') } : {}),
  };
  safeLoggers.set(logger, safe);
  safeLoggers.set(safe, safe);
  return safe;
}
