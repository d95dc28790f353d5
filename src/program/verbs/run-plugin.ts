/** `run-plugin -- COMMAND`: runs a plugin like a client, and reports what is wrong with its answer. */
import {
  apiVersions,
  checkCluster,
  clusterSchema,
  copyJson,
  type ExecCluster,
  formatDuration,
  interactiveModes,
  type Json,
  judgePlugin,
  type PluginCall,
  type PluginReport,
  toExecCluster,
  tryParseJson,
} from '../../diagnose/index.ts';
import { type ExitCode, exitCodes, Failure } from '../failure.ts';
import { durationOf, readInput } from '../input.ts';
import { print } from '../table.ts';
import type { Call } from '../verb.ts';

export async function run(call: Call): Promise<ExitCode> {
  const pluginCall = await toPluginCall(call);
  const given = {
    pluginTimeoutMs: durationOf('--timeout', call.options.text('timeout') ?? '60s'),
    cleanEnvironment: call.options.has('clean-environment'),
  };
  const report = await judgePlugin(pluginCall, given, call.signal);
  await print(call, report, () => textOf(call, report));
  return report.errors.length > 0 ? exitCodes.plugin : exitCodes.ok;
}

function textOf({ terminal }: Call, report: PluginReport): string {
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

function expiryOf({ expirationTimestamp, expiresInSeconds = 0 }: NonNullable<PluginReport['credential']>): string {
  if (expirationTimestamp === undefined) return 'when a server refuses it';
  return `${expirationTimestamp}, ${expiresInSeconds < 0 ? `${formatDuration(-1_000 * expiresInSeconds)} ago` : `in ${formatDuration(1_000 * expiresInSeconds)}`}`;
}

async function toPluginCall(call: Call): Promise<PluginCall> {
  const { options, program } = call;
  const [command, ...args] = call.command;
  if (!command) {
    throw Failure.usage('run-plugin needs a command after --', `${program} run-plugin -- ./plugin --flag`);
  }
  const given = options.text('api-version') ?? 'v1';
  const apiVersion = apiVersions.find((version) => version.endsWith(`/${given}`)) ?? apiVersions[0];
  const cluster = await clusterOf(call);
  const mode = options.text('interactive-mode');
  const exec = {
    apiVersion,
    command,
    args,
    env: [],
    provideClusterInfo: cluster !== undefined,
    interactiveMode: interactiveModes.find((one) => one === mode) ?? 'Never',
  };
  return { provider: 'run-plugin', origin: 'run-plugin', exec, cluster };
}

/** `spec.cluster`, if an option says something of it. */
async function clusterOf({ options, signal }: Call): Promise<ExecCluster | undefined> {
  const [server, authority, config] = ['server', 'certificate-authority', 'config'].map((name) => options.text(name));
  if (server === undefined && authority === undefined && config === undefined) return undefined;
  const what = `--certificate-authority ${authority}`;
  const file = authority === undefined ? undefined : await readInput(what, authority, exitCodes.usage, signal);
  const fields = clusterSchema.parse({ server, 'certificate-authority-data': file?.toString('base64') });
  const cluster = checkCluster(fields, 'cluster', (_code, path, message) => {
    throw Failure.usage(`--${path.replace(/^cluster\./, '').replace(/-data$/, '')}: ${message}`);
  });
  return toExecCluster(cluster, config === undefined ? undefined : readConfig(config));
}

function readConfig(text: string): Json {
  const value = tryParseJson(text);
  if (value === undefined) throw Failure.usage('--config is not JSON', `--config '{"clusterName":"spoke-1"}'`);
  return copyJson(value, '--config', (path, reason) => {
    throw Failure.usage(`${path} ${reason}`);
  });
}
