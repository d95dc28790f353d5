/** What the end of a plugin's process means: its answer, or the `PluginError` that says what went wrong. */
import type { PluginErrorCode, PluginFailure } from '../errors/index.ts';
import { possibleSecrets } from '../redaction/known-secrets.ts';
import { redact } from '../redaction/redact.ts';
import { AnswerFault, maxAnswerBytes } from './exec-credential.ts';
import { failure, type Plugin } from './plugin-call.ts';
import type { Ended } from './process.ts';
import { startProblem } from './start-problem.ts';

export interface AnswerOptions<T> {
  /** Reads stdout. Throws an `AnswerFault` if it is no answer. */
  readonly decode: (stdout: string) => T;
  /** For the message. */
  readonly timeoutMs: number;
  /** Of stderr, what may be shown. */
  readonly stderr: string;
}

/** @throws {PluginError} if the process gave no answer. */
export function readAnswer<T>(plugin: Plugin, ended: Ended, { decode, timeoutMs, stderr }: AnswerOptions<T>): T {
  const fail = (code: PluginErrorCode, reason: string, more?: Partial<PluginFailure>) =>
    failure(plugin, code, reason, { stderr, ...more });
  const { exitCode, signal, startError, stdout } = ended;
  if (ended.tooLarge) throw fail('ANSWER_TOO_LARGE', `printed more than ${maxAnswerBytes} bytes on stdout`);
  if (ended.timedOut) throw fail('PLUGIN_TIMEOUT', timeoutReason(timeoutMs, isAnswer(stdout, decode)));
  if (startError !== undefined) {
    const { code, reason } = startProblem(startError);
    throw fail(code, reason);
  }
  if (signal !== undefined) {
    const advice = signal === 'SIGKILL' ? 'check its memory limit' : 'check its stderr, and run it by hand to see why';
    throw fail('PLUGIN_SIGNALED', `was ended by ${signal}: ${advice}`, { signal });
  }
  if (exitCode !== 0) {
    const silent = stderr === '' ? ', and wrote nothing on stderr: run it by hand to see why' : '';
    throw fail('PLUGIN_FAILED', `failed with exit code ${exitCode ?? 'unknown'}${silent}`, { exitCode });
  }
  try {
    return decode(stdout);
  } catch (fault) {
    if (!(fault instanceof AnswerFault))
      throw fail('ANSWER_UNPARSABLE', 'gave an answer that could not be read', { exitCode });
    const advice = faultAdvice[fault.code];
    throw fail(fault.code, `${fault.reason}${advice === undefined ? '' : `; ${advice}`}`, { exitCode });
  }
}

function timeoutReason(timeoutMs: number, hasAnswered: boolean): string {
  return hasAnswered
    ? `answered and did not end within ${timeoutMs} ms, and was killed: it keeps something open, such as a timer or a ` +
        'connection, or a child that holds its stdout; report it to its author'
    : `gave no answer within ${timeoutMs} ms and was killed: check whether it waits for a server, or for a file it holds open`;
}

function isAnswer(stdout: string, decode: (stdout: string) => unknown): boolean {
  try {
    decode(stdout);
    return true;
  } catch {
    return false;
  }
}

const checkArguments = 'check its arguments, or report it to its author';
/** The next step after a fault whose reason names none. */
const faultAdvice: Partial<Readonly<Record<PluginErrorCode, string>>> = {
  ANSWER_EMPTY: 'it has to print its answer there: check its command and arguments',
  ANSWER_NO_CREDENTIAL: checkArguments,
  ANSWER_HALF_PAIR: checkArguments,
  ANSWER_KEY_MISMATCH: checkArguments,
  ANSWER_FIELD_INVALID: checkArguments,
};

/** What of stderr may be shown. Words of stdout with `shortestSecret` characters or more may be secrets. */
export function shownStderr(
  { stdout, stderr, stderrCut }: Ended,
  secrets: readonly string[],
  shortestSecret = 12,
): string {
  return redact(stderr, [...secrets, ...possibleSecrets(stdout, shortestSecret)], { isCut: stderrCut });
}
