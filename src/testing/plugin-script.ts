/** Throw-away plugins that are real executables: credential plugins (KEP-541) and image credential plugins (KEP-2133). */

import { chmod, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What a throw-away plugin does when it is run next. */
export interface PluginAnswer {
  readonly token?: string;
  /** PEM. */
  readonly clientCertificateData?: string;
  /** PEM. */
  readonly clientKeyData?: string;
  /** RFC 3339. */
  readonly expirationTimestamp?: string;
  /** Logins by image pattern. With it the plugin is a kubelet's image credential plugin, which reads its request from stdin. */
  readonly auth?: Readonly<Record<string, { readonly username: string; readonly password: string }>> | null;
  /** For `auth`. Default: `Image`. */
  readonly cacheKeyType?: 'Image' | 'Registry' | 'Global';
  /** For `auth`: a Go duration. */
  readonly cacheDuration?: string;
  /** Default: `client.authentication.k8s.io/v1`, with `auth` `credentialprovider.kubelet.k8s.io/v1`. */
  readonly apiVersion?: string;
  /** Read stdin to its end before answering. Default: true with `auth`, else false. */
  readonly readStdin?: boolean;
  /** Printed instead of an ExecCredential or a CredentialProviderResponse. */
  readonly stdout?: string;
  readonly stderr?: string;
  /** From 0 to 255. */
  readonly exitCode?: number;
  /** Milliseconds before it answers. */
  readonly delayMs?: number;
}

/** A plugin that is a real executable in a folder of its own. */
export interface TestPlugin {
  /** Absolute path of the executable. */
  readonly command: string;
  readonly directory: string;
  /** How often it has been started. */
  runs(): Promise<number>;
  /** What the last run was asked, parsed: its stdin where it reads that, else `KUBERNETES_EXEC_INFO`. */
  lastInput(): Promise<unknown>;
  lastArgs(): Promise<readonly string[]>;
  /** The environment of the last run, in an object without prototype. */
  lastEnvironment(): Promise<Readonly<Record<string, string>>>;
  /** Changes what the next run does. Throws a `TypeError` or `RangeError` for what a plugin cannot do. */
  answer(answer: PluginAnswer): Promise<void>;
  remove(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Text that a shell takes as it is. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** Every run leaves its arguments and environment beside it; the answer lies in files, so no token is in the script. */
const script = (directory: string) => `#!/bin/sh
cd ${quoted(directory)} || exit 70
printf 'x' >> runs
{ for argument in "$@"; do printf '%s\\0' "$argument"; done; } > "args.$$" && mv "args.$$" args
env -0 > "environment.$$" && mv "environment.$$" environment
answer=$(readlink answer)
. "./$answer/behaviour"
cat "$answer/stderr" >&2
cat "$answer/stdout"
exit "$exit_code"
`;

/** Sourced by the script: the file named \`input\` is there where the run has read its stdin. */
const behaviour = ({ exitCode = 0, delayMs = 0, ...answer }: PluginAnswer) =>
  [
    `exit_code=${exitCode}`,
    readsStdin(answer) ? 'cat > "input.$$" && mv "input.$$" input' : 'rm -f input',
    ...(delayMs > 0 ? [`sleep ${(delayMs / 1_000).toFixed(3)}`] : []),
    '',
  ].join('\n');

const readsStdin = ({ auth, readStdin = auth !== undefined }: PluginAnswer) => readStdin;

function check({ auth, token, clientCertificateData, exitCode = 0, delayMs = 0 }: PluginAnswer): void {
  if (auth !== undefined && (token !== undefined || clientCertificateData !== undefined)) {
    throw new TypeError('a plugin answers with a token or certificate, or with auth, and not with both');
  }
  if (!Number.isInteger(exitCode) || exitCode < 0 || exitCode > 255) {
    throw new RangeError(`exitCode must be a whole number from 0 to 255, not ${String(exitCode)}`);
  }
  if (!(Number.isFinite(delayMs) && delayMs >= 0)) {
    throw new RangeError(`delayMs must not be negative, and is ${String(delayMs)}`);
  }
}

/**
 * Writes a throw-away plugin (a shell script) into a folder of its own. Throws a `TypeError` or `RangeError` for an answer that
 * a plugin cannot give.
 *
 * @example
 * const plugin = await writePlugin({ token: 'token-1' });
 * // { name: 'google', execConfig: { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command } }
 * await plugin.remove();
 *
 * @example
 * await using images = await writePlugin({ auth: { 'registry.example.dev': { username: 'u', password: 'p' } } });
 */
export async function writePlugin(answer: PluginAnswer = {}): Promise<TestPlugin> {
  check(answer);
  const directory = await mkdtemp(join(tmpdir(), 'credential-plugin-'));
  const command = join(directory, 'plugin');
  const read = (name: string) => readFile(join(directory, name), 'utf8').catch(() => '');
  const list = async (name: string) => (await read(name)).split('\0').slice(0, -1);
  const lastEnvironment = async () => {
    const environment: Record<string, string> = Object.create(null);
    for (const entry of await list('environment')) {
      const equals = entry.indexOf('=');
      environment[entry.slice(0, equals)] = entry.slice(equals + 1);
    }
    return environment;
  };
  let answers = 0;
  const plugin: TestPlugin = {
    command,
    directory,
    runs: async () => (await read('runs')).length,
    lastInput: async () => {
      const input = await read('input');
      return JSON.parse(input === '' ? ((await lastEnvironment()).KUBERNETES_EXEC_INFO ?? 'null') : input);
    },
    lastArgs: () => list('args'),
    lastEnvironment,
    answer: async (answer) => {
      check(answer);
      answers += 1;
      const folder = `answer-${answers}`;
      const file = (name: string) => join(directory, folder, name);
      await mkdir(join(directory, folder));
      await writeFile(file('stderr'), answer.stderr ?? '');
      await writeFile(file('stdout'), answer.stdout ?? response(answer));
      await writeFile(file('behaviour'), behaviour(answer));
      // A run sees the whole of one answer: it reads the link once, and the link changes at once.
      await symlink(folder, join(directory, 'answer.new'));
      await rename(join(directory, 'answer.new'), join(directory, 'answer'));
    },
    remove: () => rm(directory, { recursive: true, force: true }),
    [Symbol.asyncDispose]: () => plugin.remove(),
  };
  await plugin.answer(answer);
  await writeFile(command, script(directory));
  await chmod(command, 0o755);
  return plugin;
}

function response({ auth, cacheKeyType = 'Image', cacheDuration, apiVersion, ...answer }: PluginAnswer): string {
  if (auth !== undefined) {
    const version = apiVersion ?? 'credentialprovider.kubelet.k8s.io/v1';
    return JSON.stringify({
      kind: 'CredentialProviderResponse',
      apiVersion: version,
      cacheKeyType,
      cacheDuration,
      auth,
    });
  }
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = answer;
  const status = { token, clientCertificateData, clientKeyData, expirationTimestamp };
  return JSON.stringify({
    kind: 'ExecCredential',
    apiVersion: apiVersion ?? 'client.authentication.k8s.io/v1',
    status,
  });
}
