/** What the end of a plugin's run means, of any protocol: its answer, or the `PluginError` that says what went wrong. */
import { PluginError, type PluginErrorCode, type PluginFailure } from '../errors/index.ts';
import { possibleSecrets, redact } from '../redaction/known-secrets.ts';
import { errnoOf } from '../util/guards.ts';
import { AnswerFault, maxAnswerBytes } from './credential.ts';
import type { Plugin } from './plugin-call.ts';
import type { Ended } from './process.ts';

export function failure(
  { provider, origin, exec, purpose }: Plugin,
  code: PluginErrorCode,
  reason: string,
  more: Partial<PluginFailure> = {},
): PluginError {
  const opening = purpose === undefined ? '' : `${purpose}: `;
  return new PluginError(code, `${opening}${reason}`, { provider, origin, command: exec.command, ...more });
}

/** Turns anything that a run throws into a `PluginError`. `signal` is aborted once the run's owner is closed. */
export function toPluginError(plugin: Plugin, error: unknown, signal: AbortSignal): PluginError {
  if (error instanceof PluginError) return error;
  if (signal.aborted) return failure(plugin, 'PLUGIN_STOPPED', stoppedReason);
  // Its message may quote the arguments, so only its code is shown.
  const { code, reason } = machineProblem(errnoOf(error));
  return failure(plugin, code, reason);
}

export const stoppedReason = 'was stopped by close()';

interface AnswerOptions<T> {
  /** Reads stdout. Throws an `AnswerFault` if it is not an answer. */
  readonly decode: (stdout: string) => T;
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
  if (ended.timedOut) {
    const advice =
      'check whether it waits for a server, or keeps something open after its answer, such as a connection';
    throw fail('PLUGIN_TIMEOUT', `did not end within ${timeoutMs} ms and was killed: ${advice}`);
  }
  if (startError !== undefined) {
    const { code, reason } = startProblem(startError);
    throw fail(code, reason);
  }
  if (signal !== undefined) {
    const advice = signal === 'SIGKILL' ? 'check its memory limit' : 'check its stderr, and run it by hand to see why';
    throw fail('PLUGIN_SIGNALED', `was killed by ${signal}: ${advice}`, { signal });
  }
  if (exitCode !== 0) {
    const silent = stderr === '' ? ' and wrote nothing to stderr: run it by hand to see why' : '';
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

const checkArguments = 'check its arguments, or report it to its author';
/** The next step after a fault whose reason names none. */
const faultAdvice: Partial<Readonly<Record<PluginErrorCode, string>>> = {
  ANSWER_EMPTY: 'it must print its answer there: check its command and arguments',
  ANSWER_NO_CREDENTIAL: checkArguments,
  ANSWER_HALF_PAIR: checkArguments,
  ANSWER_KEY_MISMATCH: checkArguments,
  ANSWER_FIELD_INVALID: checkArguments,
};

/** The redacted stderr. Words of stdout with `shortestSecret` characters or more may be secrets. */
export function shownStderr(
  { stdout, stderr, stderrCut }: Ended,
  secrets: readonly string[],
  shortestSecret = 12,
): string {
  return redact(stderr, [...secrets, ...possibleSecrets(stdout, shortestSecret)], { isCut: stderrCut });
}

type StartProblem = Pick<PluginError, 'code' | 'reason'>;

const descriptors = 'raise its limit of open files (ulimit -n), and find out what keeps so many open';
const memory = 'see the limits of memory here';

/** Transient: the next run of the same plugin may succeed. */
const transient: Readonly<Record<string, string>> = {
  EMFILE: `this process has no free descriptors: ${descriptors}`,
  ENFILE: `this machine has no free descriptors: ${descriptors}`,
  EAGAIN: 'this machine starts no more processes now: raise the limit of processes (ulimit -u, pids.max)',
  ENOMEM: `there is no memory for another process: ${memory}`,
  ENOBUFS: `there is no memory for another process: ${memory}`,
  ETXTBSY: 'its file is being written: write a new one beside it, and rename it into place',
};

const lasting: Readonly<Record<string, StartProblem>> = {
  E2BIG: {
    code: 'PLUGIN_INPUT_TOO_LARGE',
    reason: 'its arguments and environment together are more than the kernel takes: shorten them',
  },
  ENOENT: { code: 'PLUGIN_NOT_EXECUTABLE', reason: 'its interpreter (the first line after #!) is missing' },
  ENOEXEC: {
    code: 'PLUGIN_NOT_EXECUTABLE',
    reason: 'is no program that this machine can run: see its first line (#!), and for which machine it was built',
  },
  EACCES: {
    code: 'PLUGIN_NOT_EXECUTABLE',
    reason: 'may not be executed here: see its mode, its interpreter, and whether its file system is mounted noexec',
  },
};

/** Of an error of the process itself, which the system could not start. */
export function startProblem(errno: string): StartProblem {
  const known = Object.hasOwn(lasting, errno) ? lasting[errno] : undefined;
  return known ? { code: known.code, reason: `${known.reason} (${errno})` } : machineProblem(errno);
}

/** Of an error before that: in the plugin's folders, or in this process. */
function machineProblem(errno: string): StartProblem {
  return isTransient(errno)
    ? { code: 'PLUGIN_NOT_STARTED', reason: `could not be started: ${transient[errno]} (${errno})` }
    : { code: 'PLUGIN_NOT_EXECUTABLE', reason: `could not be started (${errno})` };
}

/** Whether the machine, and not the plugin, is the reason of a system's error, so that the next run may succeed. */
export function isTransient(errno: string): boolean {
  return Object.hasOwn(transient, errno);
}
