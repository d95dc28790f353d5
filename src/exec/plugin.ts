/**
 * Runs one plugin once: what it is told goes in, a checked Credential comes out, anything else is a PluginError.
 * It must not know of caches, requests or connections.
 */
import { abortable } from '../abortable.ts';
import { errnoOf } from '../errno.ts';
import { type ClusterOfError, PluginError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { passwordsOfAddresses, secretsOfArguments, secretsOfEnvironment } from '../redaction/known-secrets.ts';
import { emit, type RunEnd, type RunReason, stateOf } from '../telemetry.ts';
import { type Credential, type ExecResponse, encodeExecCredential, maxAnswerBytes } from './exec-credential.ts';
import { readAnswer, shownStderr } from './plugin-answer.ts';
import { failure, fieldsOf, lineOf, type PluginCall, type PluginOptions } from './plugin-call.ts';
import { runExecutable } from './plugin-executable.ts';
import { environmentOf, inputProblem } from './plugin-input.ts';
import { alone, decideInteraction } from './plugin-terminal.ts';
import type { Ended } from './process.ts';
import { RunHistory } from './run-history.ts';
import { withinRunLimit } from './run-limit.ts';
import { machineProblem } from './start-problem.ts';

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
    options.logger.debug?.(
      { ...fieldsOf(call, previous.cluster), ...start, ...more },
      lineOf(call, previous.cluster, message),
    );
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

async function run(
  call: PluginCall,
  options: PluginOptions,
  previous: Previous,
  timeoutMs: number | undefined,
): Promise<Credential> {
  const { exec, cluster } = call;
  const { response } = previous;
  const interactive = timeoutMs === undefined;
  if (options.signal.aborted) throw failure(call, 'PLUGIN_STOPPED', 'was not run: the CredentialProviders are closed');
  const execInfo = encodeExecCredential(exec.apiVersion, { interactive, cluster, response });
  const { environment: given, leftOut } = environmentOf(exec, options.cleanEnvironment);
  previous.leftOut?.(leftOut);
  const environment = { ...given, KUBERNETES_EXEC_INFO: execInfo };
  const problem = inputProblem(exec.args, environment, cluster);
  if (problem) throw failure(call, 'PLUGIN_INPUT_TOO_LARGE', problem);
  const settings = { args: exec.args, env: environment, timeoutMs, maxBytes: maxAnswerBytes, stop: options.signal };
  const ended = await runExecutable(call, settings, options);
  if (options.signal.aborted)
    throw failure(call, 'PLUGIN_STOPPED', 'was stopped, because the CredentialProviders were closed');
  previous.ended?.(ended);
  // To look for them takes a while where there are many.
  const secrets = ended.stderr === '' ? [] : [...previous.secrets, ...secretsOf(call)];
  try {
    const credential = readAnswer(call, ended, timeLimit(timeoutMs, options), secrets);
    report(call, previous, options.logger, shownStderr(ended, [...secrets, ...credential.secrets]));
    return credential;
  } catch (error) {
    if (error instanceof PluginError) report(call, previous, options.logger, error.stderr ?? '');
    throw error;
  }
}

/** For messages. */
function timeLimit(timeoutMs: number | undefined, options: PluginOptions): string {
  if (timeoutMs === undefined || timeoutMs === options.timeoutMs) return `${options.timeoutMs} ms`;
  const why = 'others of its access type take long, and more wait; the next time it has all of it';
  return `${Math.round(timeoutMs)} ms, a part of its ${options.timeoutMs} ms (${why})`;
}

/** What the plugin was given, and may print. */
function secretsOf({ exec, configured = exec, cluster }: PluginCall): readonly string[] {
  return [
    // A kubeconfig's proxy may have a login.
    ...passwordsOfAddresses(cluster?.['proxy-url'] ?? ''),
    ...secretsOfEnvironment(configured.env, process.env),
    ...secretsOfArguments(configured.args),
  ];
}

function report(call: PluginCall, previous: Previous, logger: Logger, stderr: string): void {
  if (stderr !== '')
    logger.info?.(fieldsOf(call, previous.cluster), lineOf(call, previous.cluster, `stderr: ${stderr}`));
}
