/** `run-plugin -- COMMAND`: runs a plugin like a client, and reports what is wrong with its answer. */
import { type ApiVersion, apiVersions } from '../../access/api-versions.ts';
import { checkCluster } from '../../access/cluster.ts';
import { clusterSchema } from '../../access/cluster-profile.ts';
import { fieldPath } from '../../access/field-path.ts';
import { copyJson, type Json } from '../../access/json.ts';
import { type EnvVar, envNameProblem, interactiveModes } from '../../access/provider.ts';
import { PluginError } from '../../errors/index.ts';
import { type ExecCluster, toExecCluster } from '../../exec/exec-credential.ts';
import { findExecutable, pluginFileProblem } from '../../exec/executable.ts';
import { runPlugin } from '../../exec/plugin.ts';
import type { PluginCall } from '../../exec/plugin-call.ts';
import { shownStderr } from '../../exec/plugin-outcome.ts';
import type { Ended } from '../../exec/process.ts';
import { secretsOfArguments, secretsOfEnvironment } from '../../redaction/known-secrets.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { formatDuration } from '../format-duration.ts';
import { readInput } from '../input.ts';
import { durationOf } from '../option-values.ts';
import { silentPluginOptions } from '../plugin-options.ts';
import { printData } from '../print.ts';
import { type Diagnosis, diagnose } from '../run-plugin/diagnosis.ts';
import type { Call } from '../verb.ts';

/** The report on a run; `-o json` has the same names. */
interface Report extends Partial<Diagnosis> {
  readonly command: string;
  /** The file that was run. */
  readonly path?: string;
  readonly apiVersion: ApiVersion;
  readonly server?: string;
  readonly durationMs: number;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly stdoutBytes?: number;
  readonly stderrBytes?: number;
  /** The end of it, without what looks like a secret. */
  readonly stderr?: string;
  /** Of the error. */
  readonly code?: string;
  /** Why a client has no credential; empty if it has one. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

export async function run(call: Call): Promise<ExitCode> {
  const pluginCall = await toPluginCall(call);
  const report = await runAndJudge(call, pluginCall);
  if (!(await printData(call, () => report))) await call.terminal.write(textOf(call, report));
  return report.errors.length > 0 ? exitCodes.plugin : exitCodes.ok;
}

async function runAndJudge(call: Call, pluginCall: PluginCall): Promise<Report> {
  const { exec, cluster } = pluginCall;
  const executable = await findExecutable(exec.command, process.env.PATH ?? '');
  const unsafe = 'problem' in executable ? undefined : await pluginFileProblem(executable.path).catch(() => undefined);
  let ended: Ended | undefined;
  let failure: PluginError | undefined;
  const previous = {
    reason: 'first',
    secrets: [],
    history: {},
    onEnded: (how: Ended) => {
      ended = how;
    },
  } as const;
  const options = silentPluginOptions(call, {
    timeoutMs: durationOf('--timeout', call.options.text('timeout') ?? '60s'),
    cleanEnvironment: call.options.has('clean-environment'),
  });
  const began = performance.now();
  const credential = await runPlugin(pluginCall, options, previous).catch((error: unknown) => {
    call.signal.throwIfAborted();
    if (!(error instanceof PluginError)) throw error;
    failure = error;
    return undefined;
  });
  const durationMs = Math.round(performance.now() - began);
  const diagnosis = credential && ended && diagnose(credential, ended, { durationMs, now: Date.now() });
  const warnings = [
    ...(diagnosis?.warnings ?? []),
    ...(unsafe === undefined ? [] : [`its file can be replaced by another user: ${unsafe}`]),
  ];
  const secrets = [
    ...(credential?.secrets ?? []),
    ...secretsOfEnvironment(exec.env, process.env),
    ...secretsOfArguments(exec.args),
  ];
  const stderr = ended && shownStderr(ended, secrets);
  return {
    command: exec.command,
    ...('problem' in executable ? {} : { path: executable.path }),
    apiVersion: exec.apiVersion,
    ...(cluster ? { server: cluster.server } : {}),
    durationMs,
    ...(ended?.exitCode === undefined ? {} : { exitCode: ended.exitCode }),
    ...(ended?.signal === undefined ? {} : { signal: ended.signal }),
    ...(ended ? { stdoutBytes: Buffer.byteLength(ended.stdout), stderrBytes: ended.stderrBytes } : {}),
    ...(stderr ? { stderr } : {}),
    ...diagnosis,
    ...(failure === undefined ? {} : { code: failure.code }),
    errors: failure === undefined ? [] : [failure.reason],
    warnings,
  };
}

function textOf({ terminal }: Call, report: Report): string {
  const { credential, errors, code, warnings, stderr } = report;
  const ended = report.signal === undefined ? `exit code ${report.exitCode}` : `ended by ${report.signal}`;
  const sizes = `${report.stdoutBytes} bytes on stdout, ${report.stderrBytes} bytes on stderr`;
  const lines: readonly (readonly [string, string | undefined])[] = [
    ['plugin', report.path ?? report.command],
    ['input', `${report.apiVersion}, ${report.server === undefined ? 'no cluster' : `cluster ${report.server}`}`],
    ['run', report.stdoutBytes === undefined ? 'no' : `${ended} after ${report.durationMs} ms, ${sizes}`],
    ['credential', credential && `a ${credential.kinds.join(' and a ')}`],
    ['expires', credential && expiryOf(credential)],
    ['certificate', credential?.certificate && `until ${credential.certificate.notAfter}`],
  ];
  const facts = lines.flatMap(([title, value]) => (value === undefined ? [] : [`${title.padEnd(12)}${value}\n`]));
  const said = stderr ? stderr.split('\n').map((line) => `${'stderr'.padEnd(12)}${line}\n`) : [];
  const verdict = [
    ...errors.map((error) => `${terminal.paint('red', `error [${code}]:`)} the plugin ${error}\n`),
    ...warnings.map((warning) => `${terminal.paint('yellow', 'warning:')} ${warning}\n`),
    ...(errors.length === 0 ? [`${terminal.paint('green', 'ok:')} a client takes the answer\n`] : []),
  ];
  return [...facts, ...said, ...verdict].join('');
}

function expiryOf({ expirationTimestamp, expiresInSeconds = 0 }: NonNullable<Diagnosis['credential']>): string {
  if (expirationTimestamp === undefined) return 'when a server refuses it';
  return `${expirationTimestamp}, ${expiresInSeconds < 0 ? `${formatDuration(-1_000 * expiresInSeconds)} ago` : `in ${formatDuration(1_000 * expiresInSeconds)}`}`;
}

/** The plugin call of a client. Rejects with a `Failure` for an option that cannot be used. */
async function toPluginCall(call: Call): Promise<PluginCall> {
  const { options, program } = call;
  const [command, ...args] = call.command;
  if (!command) {
    throw new Failure(
      exitCodes.usage,
      'run-plugin needs a command after --',
      `${program} run-plugin -- ./plugin --flag`,
    );
  }
  const given = options.text('api-version') ?? 'v1';
  const apiVersion = apiVersions.find((version) => version.endsWith(`/${given}`)) ?? apiVersions[0];
  const cluster = await clusterOf(call);
  const mode = options.text('interactive-mode');
  const exec = {
    apiVersion,
    command,
    args,
    env: options.texts('env').map(toVariable),
    provideClusterInfo: cluster !== undefined,
    interactiveMode: interactiveModes.find((one) => one === mode) ?? 'Never',
  };
  return { provider: 'run-plugin', origin: 'run-plugin', exec, acceptedVersions: [apiVersion], cluster };
}

function toVariable(text: string): EnvVar {
  const [, name = '', value] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  const problem = value === undefined ? 'has no "=": write NAME=VALUE' : envNameProblem(name);
  // The value is not shown: it may be a secret.
  if (problem) throw new Failure(exitCodes.usage, `${name === '' ? '--env' : `--env ${name}`}: ${problem}`);
  return { name, value: value ?? '' };
}

/** `spec.cluster`, where an option says something of it. */
async function clusterOf({ options, signal }: Call): Promise<ExecCluster | undefined> {
  const authority = options.text('certificate-authority');
  const fields = {
    server: options.text('server'),
    'tls-server-name': options.text('tls-server-name'),
    'proxy-url': options.text('proxy-url'),
    'insecure-skip-tls-verify': options.has('insecure-skip-tls-verify'),
    'certificate-authority-data':
      authority === undefined
        ? undefined
        : (await readFileOf('--certificate-authority', authority, signal)).toString('base64'),
  };
  const config = options.text('config');
  const isGiven = config !== undefined || Object.values(fields).some((value) => value !== undefined && value !== false);
  if (!isGiven) return undefined;
  const parsed = clusterSchema.safeParse(fields);
  const refuse = (_code: string, path: string, message: string): never => {
    throw new Failure(exitCodes.usage, `--${path.replace(/^cluster\./, '').replace(/-data$/, '')}: ${message}`);
  };
  if (!parsed.success)
    return refuse('', fieldPath(parsed.error.issues[0]?.path ?? []), parsed.error.issues[0]?.message ?? '');
  return toExecCluster(
    checkCluster(parsed.data, 'cluster', refuse),
    config === undefined ? undefined : await readConfig(config, signal),
  );
}

/** JSON, or `@file` of it. */
async function readConfig(given: string, signal: AbortSignal): Promise<Json> {
  const text = given.startsWith('@') ? (await readFileOf('--config', given.slice(1), signal)).toString('utf8') : given;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Failure(
      exitCodes.usage,
      '--config is not JSON',
      `--config '{"clusterName":"spoke-1"}', or --config @file`,
    );
  }
  return copyJson(value, '--config', (path, reason) => {
    throw new Failure(exitCodes.usage, `${path} ${reason}`);
  });
}

function readFileOf(option: string, path: string, signal: AbortSignal): Promise<Buffer> {
  return readInput(`${option} ${path}`, path, exitCodes.usage, signal);
}
