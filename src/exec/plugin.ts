/**
 * Runs one plugin once: what it is told goes in, a checked Credential comes out, anything else is a PluginError.
 * It must not know of caches, requests or connections.
 */
import { isatty } from 'node:tty';
import { abortable } from '../abortable.ts';
import type { ApiVersion } from '../access/api-versions.ts';
import type { ResolvedExec } from '../access/resolve.ts';
import { errnoOf } from '../errno.ts';
import { openingOf } from '../errors/cluster-of-error.ts';
import { type ClusterOfError, PluginError, type PluginErrorCode, type PluginFailure } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { emit, type Observer, type RunEnd, type RunReason, stateOf } from '../telemetry.ts';
import type { Troubles } from '../troubles.ts';
import {
  AnswerFault,
  type Credential,
  decodeExecCredential,
  type ExecCluster,
  type ExecResponse,
  encodeExecCredential,
  maxAnswerBytes,
} from './exec-credential.ts';
import { type ExecutableProblem, findExecutable } from './executable.ts';
import { possibleSecrets, secretsOfArguments, secretsOfEnvironment } from './known-secrets.ts';
import { PinnedFile } from './pinned-file.ts';
import { pluginFileProblem } from './plugin-file.ts';
import { environmentOf, inputProblem } from './plugin-input.ts';
import { type PluginPolicy, permissionFor } from './plugin-policy.ts';
import { type Ended, type ProcessOptions, runProcess } from './process.ts';
import { redact } from './redact.ts';
import { RunHistory, withinRunLimit } from './run-limit.ts';
import { isPassing, machineProblem, startProblem } from './start-problem.ts';

/** Everything that can change a plugin's answer, and whose it is. */
export interface PluginCall {
  /** The access type, for fair queueing; `kubeconfig` for those that come from one. */
  readonly provider: string;
  /** Whose plugin this is, for messages: `access provider google`. */
  readonly origin: string;
  readonly exec: ResolvedExec;
  /**
   * What of `exec` the operator configured; all of it, unless it is said here. The rest is a profile's, which holds no secrets and
   * must not blank a diagnosis.
   */
  readonly configured?: Pick<ResolvedExec, 'args' | 'env'>;
  readonly acceptedVersions: readonly ApiVersion[];
  /** Only where `provideClusterInfo` is true. */
  readonly cluster: ExecCluster | undefined;
}

export interface PluginOptions {
  /** Milliseconds until a plugin that has not answered is killed. */
  readonly timeoutMs: number;
  /** Plugins that may run at once in this process. */
  readonly maxConcurrentRuns: number;
  readonly logger: Logger;
  readonly troubles: Troubles;
  /** Give the plugin nothing of the process's environment but `PATH` and `HOME`. */
  readonly cleanEnvironment: boolean;
  /** Which plugins may be run at all. */
  readonly pluginPolicy: PluginPolicy;
  /** Refuse a plugin that others can replace, instead of warning once. */
  readonly strictPluginFiles: boolean;
  /** Is told of runs. */
  readonly observer?: Observer | undefined;
  /** Aborted when the whole library is closed: the plugins that still run are killed. */
  readonly signal: AbortSignal;
}

/** Why there is a run, and what it is told of the credential before it. */
export interface Previous {
  readonly reason: RunReason;
  /** What the server said to it (v1alpha1). */
  readonly response?: ExecResponse | undefined;
  /** Its secrets, which the plugin may write on stderr. */
  readonly secrets: readonly string[];
  /** How much of the places its input has used so far. */
  readonly history: RunHistory;
  /** For whom it is run, for the log. */
  readonly cluster?: ClusterOfError | undefined;
  /** Is told which of a profile's variables the process's environment has already. */
  readonly leftOut?: (names: readonly string[]) => void;
  /** Is told how the process ended, before its answer is read. It holds the answer, so it is for those who judge it alone. */
  readonly ended?: (ended: Ended) => void;
}

/** Runs the plugin when a place is free. Rejects with nothing but a `PluginError`. */
export async function runPlugin(
  call: PluginCall,
  options: PluginOptions,
  previous: Previous = { reason: 'first', secrets: [], history: new RunHistory() },
): Promise<Credential> {
  const { signal, maxConcurrentRuns: limit, timeoutMs } = options;
  const { history } = previous;
  const interactive = decideInteraction(call);
  try {
    if (interactive) return await abortable(() => alone(() => observed(call, options, previous, undefined)), signal);
    return await withinRunLimit({ signal, limit, accessType: call.provider, history, timeoutMs }, (ms) =>
      observed(call, options, previous, ms),
    );
  } catch (error) {
    if (error instanceof PluginError) throw error;
    if (signal.aborted) throw failure(call, 'PLUGIN_STOPPED', 'was stopped: the CredentialProviders are closed');
    // Its message may quote the arguments: only its code is passed on.
    const { code, reason } = machineProblem(errnoOf(error));
    throw failure(call, code, reason);
  }
}

let lastRunId = 0;

/** A run, and its beginning and end told to the observer. */
async function observed(
  call: PluginCall,
  options: PluginOptions,
  previous: Previous,
  timeoutMs: number | undefined,
): Promise<Credential> {
  lastRunId += 1;
  const { provider, exec } = call;
  const start = { runId: lastRunId, provider, command: exec.command, reason: previous.reason };
  const began = performance.now();
  const debug = (message: string, more: object = {}) =>
    options.logger.debug?.({ ...fieldsOf(call, previous), ...start, ...more }, lineOf(call, previous, message));
  emit(options.observer, 'plugin-run-start', start);
  debug(`is run (${runReasons[previous.reason]})`);
  const end = (how: Pick<RunEnd, 'state' | 'code' | 'exitCode' | 'signal'>, outcome: string) => {
    const durationMs = performance.now() - began;
    emit(options.observer, 'plugin-run-end', { ...start, ...how, durationMs });
    debug(`${outcome} (after ${Math.round(durationMs)} ms)`, { ...how, durationMs });
  };
  try {
    const credential = await run(call, options, previous, timeoutMs);
    end({ state: 'ok', exitCode: 0 }, `gave ${describeCredential(credential)}`);
    return credential;
  } catch (error) {
    if (error instanceof PluginError) {
      const { code, exitCode, signal } = error;
      const how = {
        state: stateOf(code),
        code,
        ...(exitCode === undefined ? {} : { exitCode }),
        ...(signal === undefined ? {} : { signal }),
      };
      end(how, error.reason);
    } else {
      end({ state: 'exec_error' }, 'could not be started');
    }
    throw error;
  }
}

/** For the log. */
const runReasons: Readonly<Record<RunReason, string>> = {
  first: 'there is no credential yet',
  expired: 'the credential has expired',
  ahead: 'the credential expires soon',
  rejected: 'a server refused the credential',
};

/** Never the credential itself. */
export function describeCredential({ authorization, keyPair, expiresAt }: Credential): string {
  const what = [authorization === undefined ? [] : ['a token'], keyPair ? ['a client certificate'] : []].flat();
  const until = expiresAt === undefined ? 'without an expiry' : `good until ${new Date(expiresAt).toISOString()}`;
  return what.length === 0 ? 'nothing' : `${what.join(' and ')}, ${until}`;
}

function fieldsOf({ provider, exec }: PluginCall, { cluster }: Pick<Previous, 'cluster'>): object {
  const { profile, server } = cluster ?? {};
  return {
    ...(profile === undefined ? {} : { profile }),
    ...(server === undefined ? {} : { server }),
    provider,
    command: exec.command,
  };
}

function lineOf({ origin, exec }: PluginCall, { cluster }: Pick<Previous, 'cluster'>, message: string): string {
  return `${openingOf(cluster)}${origin}: plugin ${exec.command}: ${message}`;
}

async function run(
  call: PluginCall,
  options: PluginOptions,
  previous: Previous,
  timeoutMs: number | undefined,
): Promise<Credential> {
  const { exec, cluster, configured = exec } = call;
  const { response, secrets: earlier } = previous;
  const interactive = timeoutMs === undefined;
  const secrets = [
    ...earlier,
    ...loginOf(cluster?.['proxy-url']),
    ...secretsOfEnvironment(configured.env, process.env),
    ...secretsOfArguments(configured.args),
  ];
  if (options.signal.aborted) throw failure(call, 'PLUGIN_STOPPED', 'was not run: the CredentialProviders are closed');
  const execInfo = encodeExecCredential(exec.apiVersion, { interactive, cluster, response });
  const { environment: given, leftOut } = environmentOf(exec, options.cleanEnvironment);
  previous.leftOut?.(leftOut);
  const environment = { ...given, KUBERNETES_EXEC_INFO: execInfo };
  const problem = inputProblem(exec.args, environment, cluster);
  if (problem) throw failure(call, 'PLUGIN_INPUT_TOO_LARGE', problem);
  const searchPath = process.env.PATH ?? '';
  const permission = await permissionFor(options.pluginPolicy, exec.command, searchPath);
  if ('refusal' in permission) throw failure(call, 'PLUGIN_NOT_ALLOWED', `may not be run: ${permission.refusal}`);
  const executable = await findExecutable(exec.command, searchPath);
  if ('problem' in executable) throw cannotRun(call, executable.problem, executable.path);
  await checkFile(call, executable.path, options);
  const settings = { args: exec.args, env: environment, timeoutMs, maxBytes: maxAnswerBytes, stop: options.signal };
  const ended = permission.digests
    ? await runPinned(call, executable.path, permission.digests, settings)
    : await runProcess(executable.path, settings);
  if (options.signal.aborted)
    throw failure(call, 'PLUGIN_STOPPED', 'was stopped, because the CredentialProviders were closed');
  previous.ended?.(ended);
  try {
    const credential = readAnswer(call, ended, timeLimit(timeoutMs, options), secrets);
    report(call, previous, options.logger, shownStderr(ended, [...secrets, ...credential.secrets]));
    return credential;
  } catch (error) {
    if (error instanceof PluginError) report(call, previous, options.logger, error.stderr ?? '');
    throw error;
  }
}

/** Runs a file that has one of these digests. What is executed is what was hashed, where the system lets us. */
async function runPinned(
  call: PluginCall,
  path: string,
  digests: readonly string[],
  settings: ProcessOptions,
): Promise<Ended> {
  const refused = (why: string) => failure(call, 'PLUGIN_NOT_ALLOWED', why);
  const file = await PinnedFile.open(path).catch((error: unknown) => {
    const errno = errnoOf(error);
    if (isPassing(errno)) throw error;
    throw refused(`may not be run: ${path} cannot be read, so its SHA-256 cannot be compared (${errno})`);
  });
  try {
    if (!digests.includes(file.sha256)) {
      const advice = 'if it was upgraded on purpose, pin the new one, beside the old one for a while';
      const pinned = `the plugin allowlist pins it to ${digests.join(' or ')}`;
      throw refused(`may not be run: the SHA-256 of ${path} is ${file.sha256}, and ${pinned}: ${advice}`);
    }
    const ended = await runProcess(path, { ...settings, descriptor: file.descriptor });
    if (!(await file.isUnchanged())) throw refused('was changed while it ran: its answer is not used');
    return ended;
  } finally {
    await file.close();
  }
}

/** For messages. */
function timeLimit(timeoutMs: number | undefined, options: PluginOptions): string {
  if (timeoutMs === undefined || timeoutMs === options.timeoutMs) return `${options.timeoutMs} ms`;
  const why = 'others of its access type take long, and more wait; the next time it has all of it';
  return `${Math.round(timeoutMs)} ms, a part of its ${options.timeoutMs} ms (${why})`;
}

function readAnswer(call: PluginCall, ended: Ended, timeLimit: string, secrets: readonly string[]): Credential {
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

function failure(
  call: PluginCall,
  code: PluginErrorCode,
  reason: string,
  more: Partial<PluginFailure> = {},
): PluginError {
  return new PluginError(code, reason, {
    provider: call.provider,
    origin: call.origin,
    command: call.exec.command,
    ...more,
  });
}

async function checkFile(
  call: PluginCall,
  path: string,
  { strictPluginFiles, troubles }: PluginOptions,
): Promise<void> {
  const problem = await pluginFileProblem(path);
  const file = { name: lineOf(call, {}, path), fields: fieldsOf(call, {}) };
  const why = `could be replaced by somebody else: ${problem}`;
  if (problem && strictPluginFiles) {
    const advice = 'let only root and the user of this process write there, or mount it read-only';
    throw failure(call, 'PLUGIN_FILE_UNSAFE', `${why}; ${advice}`);
  }
  const message = lineOf(call, {}, `${why}; strictPluginFiles refuses it`);
  troubles.set(file, 'plugin file', problem ? [{ code: problem, message }] : []);
}

const executableAdvice = {
  'a directory': 'name a file',
  'not executable': 'make it executable (chmod +x) for the user of this process',
  'out of reach': 'let the user of this process enter its folders (chmod +x)',
};

function cannotRun(call: PluginCall, problem: ExecutableProblem, path: string): PluginError {
  if (problem !== 'missing') {
    return failure(call, 'PLUGIN_NOT_EXECUTABLE', `${path} is ${problem}: ${executableAdvice[problem]}`);
  }
  const where = call.exec.command.includes('/') ? 'there is no such file' : 'it is in no folder of PATH';
  const installHint = redact(call.exec.installHint ?? '');
  const reason = `was not found (${where}): install it, or correct execConfig.command`;
  return failure(call, 'PLUGIN_NOT_FOUND', reason, { installHint });
}

/** KEP-541: whether the plugin gets the terminal. Looked at anew for each run. */
function decideInteraction(call: PluginCall): boolean {
  const { interactiveMode } = call.exec;
  if (interactiveMode === 'Never') return false;
  const terminal = isatty(0);
  if (interactiveMode === 'Always' && !terminal) {
    const advice = 'run this program in a terminal, or configure a plugin that needs none';
    throw failure(
      call,
      'PLUGIN_NO_TERMINAL',
      `wants a terminal (interactiveMode Always), and stdin is none: ${advice}`,
    );
  }
  return terminal;
}

let lastPrompt: Promise<unknown> = Promise.resolve();

/** Two plugins must never ask on one terminal at the same time. */
function alone<T>(work: () => Promise<T>): Promise<T> {
  const turn = lastPrompt.then(work);
  lastPrompt = turn.catch(() => undefined);
  return turn;
}

/** A kubeconfig's proxy may have a login, which the plugin is told of. */
function loginOf(proxyUrl: string | undefined): readonly string[] {
  const password = proxyUrl === undefined ? undefined : URL.parse(proxyUrl)?.password;
  if (!password) return [];
  try {
    return [password, decodeURIComponent(password)];
  } catch {
    return [password];
  }
}

function report(call: PluginCall, previous: Previous, logger: Logger, stderr: string): void {
  if (stderr !== '') logger.info?.(fieldsOf(call, previous), lineOf(call, previous, `stderr: ${stderr}`));
}
