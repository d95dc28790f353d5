/** How a plugin of any protocol ends: with an answer on stdout, or with a line on stderr and an exit code. */
import { redact } from '../exec/redact.ts';

/**
 * Prints what `work` gives as JSON on stdout. Where it throws, the message and those of its causes go to stderr in one line,
 * without anything that looks like a credential, and the process ends with the error's own `exitCode` (1 to 255), else with 1.
 * Until then and afterwards whatever else is written to stdout goes to stderr.
 */
export async function answerWith(work: () => Promise<object>): Promise<void> {
  const print = keepStdout();
  let ended = false;
  const fail = (message: string, exitCode: number) => {
    say(message);
    process.exitCode = exitCode;
  };
  process.once('exit', (code) => {
    if (!ended && code === 0)
      fail('the plugin ended before it had an answer: it waits for a promise that never settles', 1);
  });
  try {
    print(`${JSON.stringify(await work())}\n`);
  } catch (error) {
    fail(story(error) || 'the plugin failed', exitCodeOf(error));
  }
  ended = true;
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

let printAnswer: ((text: string) => void) | undefined;

/** Sends what others write to stdout to stderr, for good; gives the one function that still writes there. */
function keepStdout(): (text: string) => void {
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
  printAnswer = (text) => write(text);
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
  return '';
}

function exitCodeOf(error: unknown): number {
  const code: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'exitCode') : undefined;
  return typeof code === 'number' && Number.isInteger(code) && code > 0 && code < 256 ? code : 1;
}
