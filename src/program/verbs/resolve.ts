/** `resolve NAME`: shows the result of `providers.resolve(profile)`. */
import {
  hideSecrets,
  hideShapes,
  printable,
  printedWithoutValues,
  profileName,
  type ResolvedAccess,
  resolve,
  secretsOfArguments,
} from '../../diagnose/index.ts';
import { type ExitCode, exitCodes } from '../failure.ts';
import { profileOf } from '../profiles.ts';
import { requiredProvidersOf } from '../providers.ts';
import { print } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import type { Call } from '../verb.ts';

export async function run(call: Call): Promise<ExitCode> {
  const { providers } = await requiredProvidersOf(call);
  const profile = await profileOf(call);
  const access = resolve(profile, providers);
  const shown = withoutSecrets(access);
  await print(call, shown, () => describe(profileName(profile), shown, call.terminal));
  return exitCodes.ok;
}

/** The values of variables may be secrets, and so may parts of the arguments. */
function withoutSecrets(access: ResolvedAccess): ResolvedAccess {
  const { exec, cluster, ...rest }: ResolvedAccess = JSON.parse(
    JSON.stringify(printedWithoutValues(access, { json: true })),
  );
  const secrets = secretsOfArguments(exec.args);
  return {
    ...rest,
    exec: { ...exec, args: exec.args.map((argument) => hideShapes(hideSecrets(argument, secrets))) },
    cluster: { ...cluster, ...(cluster.proxyUrl ? { proxyUrl: hideShapes(cluster.proxyUrl) } : {}) },
  };
}

function describe(name: string, { provider, cluster, exec, ignored }: ResolvedAccess, terminal: Terminal): string {
  const lines: readonly (readonly [string, string | undefined])[] = [
    ['Profile', name],
    ['Provider', provider],
    ['Server', cluster.server],
    ['Server name', cluster.tlsServerName],
    ['Authority', cluster.certificateAuthorityData ? "the profile's" : "this machine's"],
    ['Verification', cluster.insecureSkipTlsVerify ? 'off' : undefined],
    ['Proxy', cluster.proxyUrl],
    ['Command', exec.command],
    ...exec.args.map((argument, index) => [index === 0 ? 'Arguments' : '', quoted(argument)] as const),
    ...exec.env.map(({ name }, index) => [index === 0 ? 'Variables' : '', name] as const),
    ['Version', exec.apiVersion],
    ['Cluster info', exec.provideClusterInfo ? 'given to the plugin' : 'not given to the plugin'],
    ['Config', exec.config === undefined ? undefined : JSON.stringify(exec.config)],
    ['Interactive', exec.interactiveMode],
  ];
  const shown = lines.filter(([, value]) => value !== undefined);
  const text = shown.map(
    ([title, value]) =>
      `${title === '' ? ' '.repeat(14) : `${title}:`.padEnd(14)}${printable(value ?? '', maxValueBytes)}`,
  );
  const notes = ignored.map(({ path, reason }) => `  ${terminal.paint('yellow', path)}: ${reason}`);
  return `${[...text, ...(notes.length > 0 ? ['Ignored:', ...notes] : [])].join('\n')}\n`;
}

/** The longest value that is shown, in bytes: an exec extension may be anything. */
const maxValueBytes = 4_096;

/** As it would be written in a shell, if it has something else than plain characters. */
function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : JSON.stringify(argument);
}
