/**
 * One run of a plugin: its input goes in, a checked Credential comes out, anything else is a PluginError. `executable.ts` checks
 * the file, and `process.ts` starts it. It must not know of caches, requests or connections.
 */
import { isatty } from 'node:tty';
import { emit, type RunEnd, stateOf } from '../observability/telemetry.ts';
import { passwordsOfAddresses, secretsOfArguments, secretsOfEnvironment } from '../redaction/known-secrets.ts';
import { abortable } from '../util/abortable.ts';
import { type Credential, maxAnswerBytes } from './credential.ts';
import { describeCredential, type Refresh } from './credential-source.ts';
import { decodeExecCredential, encodeExecCredential } from './exec-credential.ts';
import { runExecutable } from './executable.ts';
import { environmentOf, inLogs, inputProblem, type PluginCall, type PluginOptions } from './plugin-call.ts';
import { failure, readAnswer, shownStderr, toPluginError } from './plugin-outcome.ts';
import type { Ended } from './process.ts';
import { type RunHistory, withinRunLimit } from './run-limit.ts';

interface RunContext extends Refresh {
  /** How the last run of its input ended. */
  readonly history: RunHistory;
  /** Receives the end of the process before its answer is read. It holds the answer, so it must never be logged. */
  readonly onEnded?: (ended: Ended) => void;
}

/** Runs the plugin when a place is free. Rejects only with a `PluginError`. */
export async function runPlugin(
  call: PluginCall,
  options: PluginOptions,
  context: RunContext = { reason: 'first', secrets: [], history: {} },
): Promise<Credential> {
  const { signal, maxConcurrentPlugins: limit } = options;
  const { history } = context;
  const interactive = decideInteraction(call);
  const work = () => runReported(call, options, context, interactive);
  try {
    if (interactive) return await abortable(() => afterLastPrompt(work), signal);
    return await withinRunLimit({ signal, limit, accessType: call.provider, history }, work);
  } catch (error) {
    throw toPluginError(call, error, signal);
  }
}

/** KEP-541: whether the plugin gets the terminal. Decided for each run. */
function decideInteraction(call: PluginCall): boolean {
  const { interactiveMode } = call.exec;
  if (interactiveMode === 'Never') return false;
  const terminal = isatty(0);
  if (interactiveMode === 'Always' && !terminal) {
    const advice = 'run this program in a terminal, or configure a plugin that needs none';
    throw failure(
      call,
      'PLUGIN_NO_TERMINAL',
      `needs a terminal (interactiveMode Always), and stdin is not one: ${advice}`,
    );
  }
  return terminal;
}

let lastPrompt: Promise<unknown> = Promise.resolve();

/** Two plugins must never prompt on the terminal at the same time. */
function afterLastPrompt<T>(work: () => Promise<T>): Promise<T> {
  const turn = lastPrompt.then(work);
  lastPrompt = turn.catch(() => undefined);
  return turn;
}

let lastRunId = 0;

async function runReported(
  call: PluginCall,
  options: PluginOptions,
  context: RunContext,
  interactive: boolean,
): Promise<Credential> {
  lastRunId += 1;
  const { provider, exec } = call;
  const start = { runId: lastRunId, provider, command: exec.command, reason: context.reason };
  const began = performance.now();
  const { fields, line } = inLogs(call, context.cluster);
  const debug = (message: string, more: object = {}) =>
    options.logger.debug?.({ ...fields, ...start, ...more }, line(message));
  emit(options.observer, 'plugin-run-start', start);
  debug(`is run, reason: ${context.reason}`);
  const end = (how: Pick<RunEnd, 'state' | 'code' | 'exitCode' | 'signal'>, outcome: string) => {
    const durationMs = performance.now() - began;
    emit(options.observer, 'plugin-run-end', { ...start, ...how, durationMs });
    debug(`${outcome} (after ${Math.round(durationMs)} ms)`, { ...how, durationMs });
  };
  try {
    const credential = await run(call, options, context, interactive);
    end({ state: 'ok', exitCode: 0 }, `gave ${describeCredential(credential)}`);
    return credential;
  } catch (error) {
    const failed = toPluginError(call, error, options.signal);
    const { code, exitCode, signal, reason } = failed;
    const how = { ...(exitCode === undefined ? {} : { exitCode }), ...(signal === undefined ? {} : { signal }) };
    end({ state: stateOf(code), code, ...how }, reason);
    throw failed;
  }
}

async function run(
  call: PluginCall,
  options: PluginOptions,
  context: RunContext,
  interactive: boolean,
): Promise<Credential> {
  const { exec, cluster, acceptedVersions = [exec.apiVersion] } = call;
  const { response } = context;
  const execInfo = encodeExecCredential(exec.apiVersion, { interactive, cluster, response });
  const { environment: given, leftOut } = environmentOf(exec, options.cleanEnvironment);
  const { fields, line } = inLogs(call, context.cluster);
  const notGiven = leftOut.map((name) => ({ key: name, message: line(leftOutMessage(name)) }));
  options.warnings.set({ name: line(''), fields }, 'left out', notGiven);
  const environment = { ...given, KUBERNETES_EXEC_INFO: execInfo };
  const problem = inputProblem(exec.args, environment, cluster);
  if (problem) throw failure(call, 'PLUGIN_INPUT_TOO_LARGE', problem);
  const { signal: stop } = options;
  const timeoutMs = interactive ? undefined : options.pluginTimeoutMs;
  const settings = { args: exec.args, env: environment, timeoutMs, maxBytes: maxAnswerBytes, stop };
  const ended = await runExecutable(call, settings, options);
  context.onEnded?.(ended);
  // The search for them takes a while if there are many.
  const secrets = ended.stderr === '' ? [] : [...context.secrets, ...secretsOf(call)];
  const log = (stderr: string) => {
    if (stderr !== '') options.logger.info?.(fields, line(`stderr: ${stderr}`));
  };
  const stderr = shownStderr(ended, secrets);
  const decode = (stdout: string) => decodeExecCredential(stdout, acceptedVersions);
  try {
    const credential = readAnswer(call, ended, { decode, timeoutMs: options.pluginTimeoutMs, stderr });
    log(shownStderr(ended, [...secrets, ...credential.secrets]));
    return credential;
  } catch (error) {
    log(stderr);
    throw error;
  }
}

/** Of a variable of the profile that the plugin does not get. */
const leftOutMessage = (name: string) =>
  `is not given the profile's variable ${name}: the process's environment has it, and profileSourcedEnvVarsPolicy is AppendIfNotExists`;

/** The secrets that the plugin was given, and may print. */
function secretsOf({ exec, configured = exec, cluster }: PluginCall): readonly string[] {
  return [
    // A kubeconfig's proxy may have a login.
    ...passwordsOfAddresses(cluster?.['proxy-url'] ?? ''),
    ...secretsOfEnvironment(configured.env, process.env),
    ...secretsOfArguments(configured.args),
  ];
}
