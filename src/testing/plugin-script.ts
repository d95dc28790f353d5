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
  /** Default: `client.authentication.k8s.io/v1`. */
  readonly apiVersion?: string;
  /** Printed instead of an ExecCredential. */
  readonly stdout?: string;
  readonly stderr?: string;
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
  /** What the last run found in `KUBERNETES_EXEC_INFO`, parsed. */
  lastInput(): Promise<unknown>;
  lastArgs(): Promise<readonly string[]>;
  /** The environment of the last run, in an object without prototype. */
  lastEnvironment(): Promise<Readonly<Record<string, string>>>;
  /** Changes what the next run does. */
  answer(answer: PluginAnswer): Promise<void>;
  remove(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Every run leaves its arguments and environment beside it; the answer lies in files, so no token is in the script. */
const script = (directory: string) => `#!/bin/sh
cd '${directory}' || exit 70
printf 'x' >> runs
{ for argument in "$@"; do printf '%s\\0' "$argument"; done; } > "args.$$" && mv "args.$$" args
env -0 > "environment.$$" && mv "environment.$$" environment
answer=$(readlink answer)
. "./$answer/behaviour"
cat "$answer/stderr" >&2
cat "$answer/stdout"
exit "$exit_code"
`;

/**
 * Writes a throw-away credential plugin (a shell script) into a folder of its own.
 *
 * @example
 * const plugin = await writePlugin({ token: 'token-1' });
 * // { name: 'google', execConfig: { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command } }
 * await plugin.remove();
 */
export async function writePlugin(answer: PluginAnswer = {}): Promise<TestPlugin> {
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
    lastInput: async () => JSON.parse((await lastEnvironment()).KUBERNETES_EXEC_INFO ?? 'null'),
    lastArgs: () => list('args'),
    lastEnvironment,
    answer: async ({ stderr = '', exitCode = 0, delayMs = 0, ...rest }) => {
      answers += 1;
      const folder = `answer-${answers}`;
      const file = (name: string) => join(directory, folder, name);
      await mkdir(join(directory, folder));
      await writeFile(file('stderr'), stderr);
      await writeFile(file('stdout'), rest.stdout ?? execCredential(rest));
      await writeFile(file('behaviour'), `exit_code=${exitCode}\n${delayMs > 0 ? `sleep ${delayMs / 1000}\n` : ''}`);
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

function execCredential({
  apiVersion = 'client.authentication.k8s.io/v1',
  stdout: _,
  ...status
}: PluginAnswer): string {
  return JSON.stringify({ kind: 'ExecCredential', apiVersion, status });
}
