/** How a plugin of any protocol ends: with an answer on stdout, or with a line on stderr and an exit code. */
import { redact } from '../redaction/known-secrets.ts';
import { isText } from '../util/guards.ts';

/**
 * Prints the result of `work` as JSON on stdout, and exits, whatever still keeps the process open: a client waits for the exit. If
 * `work` throws, also in a callback, the message and those of its causes go to stderr in one line, without anything that looks like a
 * credential, and the exit code is 1. Other output to stdout is redirected to stderr.
 */
export async function answerWith(work: () => Promise<object>): Promise<never> {
  const print = keepStdout();
  process.on('uncaughtException', (error) => {
    // A plugin with a listener of its own handles it.
    if (process.listenerCount('uncaughtException') === 1) fail(messageOf(error));
  });
  try {
    const answer = `${JSON.stringify(await work())}\n`;
    if (!ending) {
      ending = true;
      print(answer, () => exitWhenWritten(0));
    }
  } catch (error) {
    fail(messageOf(error));
  }
  // Code after the call must not run: the process exits.
  return new Promise(() => undefined);
}

/** Whether this process has its answer or failure. */
let ending = false;

/** Prints why there is no answer, and exits. Only the first failure counts. */
function fail(message: string): void {
  if (ending) return;
  ending = true;
  say(message);
  exitWhenWritten(1);
}

function exitWhenWritten(exitCode: number): void {
  process.stderr.write('', () => process.exit(exitCode));
}

/** Secrets that this process received and must not print. */
const secrets: string[] = [];

/** Hides this text in all later messages. */
export function hide(secret: string): void {
  secrets.push(secret);
}

/** A text that may quote what this process received. */
export const withoutSecrets = (text: string): string => redact(text, secrets);

/** One line on stderr, which the client logs. */
export function say(message: string): void {
  process.stderr.write(`${withoutSecrets(message).replace(/\s*\n\s*/g, ' ')}\n`);
}

/** Redirects stdout to stderr permanently. Returns the only function that still writes to stdout. */
function keepStdout(): (text: string, done: () => void) => void {
  const { stdout } = process;
  const write = stdout.write.bind(stdout);
  let said = false;
  stdout.write = (chunk: Uint8Array | string, ...rest: readonly unknown[]): boolean => {
    if (!said) say('stdout is for the answer alone, so this is on stderr (log with console.error):');
    said = true;
    // The plugin's own code may have printed the answer itself.
    const shown = withoutSecrets(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    if (shown !== '') process.stderr.write(`${shown}\n`);
    const done = rest.at(-1);
    if (typeof done === 'function') process.nextTick(done);
    return true;
  };
  return write;
}

/** The most causes of an error that are reported. */
const longestChain = 8;

/** An error's message, and those of its causes: `fetch failed: connect ECONNREFUSED ::1:443`. */
function messageOf(error: unknown): string {
  const parts: string[] = [];
  let cause = error;
  for (let length = 0; length < longestChain && cause !== undefined && cause !== null; length++) {
    const { message, code, name, retryable, cause: next, errors } = Object(cause);
    // This file is bundled, and has a class of its own for an error of the main entry point.
    const isOwn = typeof cause !== 'object' || typeof retryable === 'boolean';
    const text = isOwn ? String(cause) : [message, code, name].find(isText);
    if (text !== undefined && !parts.some((part) => part.includes(text))) parts.push(text);
    // Several addresses were tried: the first says why.
    cause = next ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return parts.join(': ') || 'the plugin failed';
}
