/** How a plugin of any protocol ends: with an answer on stdout, or with a line on stderr and an exit code. */
import { redact } from '../redaction/redact.ts';

/**
 * Prints what `work` gives as JSON on stdout, and ends the process, whatever still keeps it open: a client waits for the end. Where
 * it throws, in a callback too, or the process ends before there is an answer, the message and those of its causes go to stderr in
 * one line, without anything that looks like a credential, and the exit code is the error's own `exitCode` (1 to 255), else 1.
 * Whatever else is written to stdout goes to stderr. `helper` is what the plugin's author called.
 */
export async function answerWith(helper: string, work: () => Promise<object>): Promise<never> {
  const print = keepStdout();
  if (begun) fail(`${helper} was called twice: a plugin gives one answer`);
  else begin();
  try {
    const answer = `${JSON.stringify(await work())}\n`;
    if (!ending) {
      ending = true;
      print(answer, () => exitWhenWritten(0));
    }
  } catch (error) {
    fail(story(error) || 'the plugin failed', exitCodeOf(error));
  }
  // What stands after the call must not begin: the process ends.
  return new Promise(() => undefined);
}

let begun = false;
/** Once it is decided what this process tells and ends with. */
let ending = false;

/** Hears of every way in which the plugin's own code may end the process before there is an answer. */
function begin(): void {
  begun = true;
  const thrown = (error: unknown) => {
    // A plugin with a listener of its own deals with it.
    if (process.listenerCount('uncaughtException') === 1) fail(story(error) || 'the plugin failed', exitCodeOf(error));
  };
  process.on('uncaughtException', thrown);
  process.once('beforeExit', () =>
    fail('the plugin ended before it had an answer: it waits for a promise that never settles'),
  );
  process.once('exit', (code) => {
    if (ending || code !== 0) return;
    say('the plugin ended itself with process.exit(0) before it had an answer: return it, or throw');
    process.exitCode = 1;
  });
}

/** Tells why there is no answer, and ends the process. What comes first counts. */
function fail(message: string, exitCode = 1): void {
  if (ending) return;
  ending = true;
  say(message);
  exitWhenWritten(exitCode);
}

/** stdout has been written when this is called. */
function exitWhenWritten(exitCode: number): void {
  process.stderr.write('', () => process.exit(exitCode));
}

/** What this process was given and must not tell. */
const secrets: string[] = [];

/** From now on nothing that is said holds this text. */
export function hide(secret: string): void {
  secrets.push(secret);
}

/** One line on stderr, which the client logs. */
export function say(message: string): void {
  process.stderr.write(`${redact(message, secrets).replace(/\s*\n\s*/g, ' ')}\n`);
}

type Print = (text: string, done: () => void) => void;

let printAnswer: Print | undefined;

/** Sends what others write to stdout to stderr, for good; gives the one function that still writes there. */
function keepStdout(): Print {
  if (printAnswer) return printAnswer;
  const { stdout } = process;
  const write = stdout.write.bind(stdout);
  let said = false;
  const redirect = (chunk: Uint8Array | string, ...rest: readonly unknown[]): boolean => {
    if (!said) say('stdout is for the answer alone, so this is on stderr (log with console.error):');
    said = true;
    // It may be the answer itself, printed by the plugin's own code.
    const shown = redact(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString(), secrets);
    if (shown !== '') process.stderr.write(`${shown}\n`);
    const done = rest.at(-1);
    if (typeof done === 'function') process.nextTick(done);
    return true;
  };
  stdout.write = redirect;
  printAnswer = (text, done) => write(text, done);
  return printAnswer;
}

/** An error's message, and those of its causes that it does not tell itself: `fetch failed: connect ECONNREFUSED ::1:443`. */
function story(error: unknown): string {
  const parts: string[] = [];
  const seen = new Set<unknown>();
  const tell = (value: unknown) => {
    if (value === undefined || value === null || seen.has(value)) return;
    seen.add(value);
    const text = wordsOf(value);
    if (text !== '' && !parts.some((part) => part.includes(text))) parts.push(text);
    if (typeof value !== 'object') return;
    const errors: unknown = Reflect.get(value, 'errors');
    // Several addresses were tried, or several things failed at once.
    if (Array.isArray(errors)) errors.forEach(tell);
    tell(Reflect.get(value, 'cause'));
  };
  tell(error);
  return parts.join(': ');
}

function wordsOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  for (const field of ['message', 'code', 'name']) {
    const text: unknown = Reflect.get(value, field);
    if (typeof text === 'string' && text !== '') return text;
  }
  const status: unknown = Reflect.get(value, 'status');
  if (typeof status !== 'number') return '';
  const statusText: unknown = Reflect.get(value, 'statusText');
  // A fetch's answer, thrown as it is. Its URL and its body may hold secrets.
  return `a server answered with ${status}${typeof statusText === 'string' && statusText !== '' ? ` ${statusText}` : ''}`;
}

function exitCodeOf(error: unknown): number {
  const code: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'exitCode') : undefined;
  return typeof code === 'number' && Number.isInteger(code) && code > 0 && code < 256 ? code : 1;
}
