/** How a plugin ended goes in, its Credential comes out, or the PluginError that says what was wrong. */
import type { PluginErrorCode, PluginFailure } from '../errors.ts';
import { possibleSecrets } from '../redaction/known-secrets.ts';
import { redact } from '../redaction/redact.ts';
import { AnswerFault, type Credential, decodeExecCredential, maxAnswerBytes } from './exec-credential.ts';
import { failure, type PluginCall } from './plugin-call.ts';
import type { Ended } from './process.ts';
import { startProblem } from './start-problem.ts';

/** `timeLimit` is for the message; `secrets` are hidden in what the error has of stderr. */
export function readAnswer(call: PluginCall, ended: Ended, timeLimit: string, secrets: readonly string[]): Credential {
  const stderr = shownStderr(ended, secrets);
  const fail = (code: PluginErrorCode, reason: string, more?: Partial<PluginFailure>) =>
    failure(call, code, reason, { stderr, ...more });
  const { exitCode, signal, startError } = ended;
  if (ended.tooLarge) throw fail('ANSWER_TOO_LARGE', `printed more than ${maxAnswerBytes} bytes on stdout`);
  if (ended.timedOut) {
    const late = isAnswer(ended.stdout, call)
      ? `answered and did not end within ${timeLimit}, and was killed: it keeps something open, such as a timer or a ` +
        'connection, or a child that holds its stdout; tell its author that it has to end'
      : `gave no answer within ${timeLimit} and was killed; see whether it waits for a server, or for a file it holds open`;
    throw fail('PLUGIN_TIMEOUT', late);
  }
  if (startError !== undefined) {
    const { code, reason } = startProblem(startError);
    throw fail(code, reason);
  }
  if (signal !== undefined)
    throw fail('PLUGIN_SIGNALED', `was ended by ${signal}: ${signalAdvice(signal)}`, { signal });
  if (exitCode !== 0) {
    const silent = stderr === '' ? ', and wrote nothing on stderr: run it by hand to see why' : '';
    throw fail('PLUGIN_FAILED', `failed with exit code ${exitCode ?? 'unknown'}${silent}`, { exitCode });
  }
  try {
    return decodeExecCredential(ended.stdout, call.acceptedVersions);
  } catch (fault) {
    if (fault instanceof AnswerFault) {
      const advice = faultAdvice[fault.code];
      throw fail(fault.code, `${fault.reason}${advice === undefined ? '' : `; ${advice}`}`, { exitCode });
    }
    throw fail('ANSWER_UNPARSABLE', 'gave an answer that could not be read', { exitCode });
  }
}

/** Whether that is a credential, all of it. */
function isAnswer(stdout: string, call: PluginCall): boolean {
  try {
    decodeExecCredential(stdout, call.acceptedVersions);
    return true;
  } catch {
    return false;
  }
}

function signalAdvice(signal: string): string {
  return signal === 'SIGKILL'
    ? 'see whether it was over a limit of memory'
    : 'see its stderr, and run it by hand to see why';
}

const tellAuthor = 'see what it is told to get, or tell its author';
/** What to do about an answer, where the reason does not say it. */
const faultAdvice: Partial<Readonly<Record<PluginErrorCode, string>>> = {
  ANSWER_EMPTY: 'it has to print an ExecCredential: see execConfig.command and args',
  ANSWER_NO_STATUS: tellAuthor,
  ANSWER_NO_CREDENTIAL: tellAuthor,
  ANSWER_HALF_PAIR: tellAuthor,
  ANSWER_KEY_MISMATCH: tellAuthor,
  ANSWER_FIELD_INVALID: tellAuthor,
};

/** What of stderr may be shown. */
export function shownStderr({ stdout, stderr, stderrCut }: Ended, secrets: readonly string[]): string {
  return redact(stderr, [...secrets, ...possibleSecrets(stdout, 12)], { isCut: stderrCut });
}
