/** Throw-away plugins that are real executables: credential plugins (KEP-541) and image credential plugins (KEP-2133). */
import { chmod, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** What a throw-away plugin does at its next run. */
export interface PluginAnswer {
  readonly token?: string | undefined;
  /** PEM. */
  readonly clientCertificateData?: string | undefined;
  /** PEM. */
  readonly clientKeyData?: string | undefined;
  /** RFC 3339. */
  readonly expirationTimestamp?: string | undefined;
  /** Logins by image pattern. With it the plugin is a kubelet's image credential plugin, which reads its request from stdin. */
  readonly auth?: Readonly<Record<string, { readonly username: string; readonly password: string }>> | null;
  /**
   * For `auth`.
   * @default `Image`
   */
  readonly cacheKeyType?: 'Image' | 'Registry' | 'Global' | undefined;
  /** For `auth`: a Go duration. */
  readonly cacheDuration?: string | undefined;
  /** @default `client.authentication.k8s.io/v1`, with `auth` `credentialprovider.kubelet.k8s.io/v1` */
  readonly apiVersion?: string | undefined;
  /** Printed instead of an ExecCredential or a CredentialProviderResponse. */
  readonly stdout?: string | undefined;
  readonly stderr?: string | undefined;
  /** From 0 to 255. */
  readonly exitCode?: number | undefined;
  /** Milliseconds before it answers. */
  readonly delayMs?: number | undefined;
}

/** Where a throw-away plugin is stored. */
export interface PluginPlace {
  /**
   * The executable's name, which is also the name of an image credential provider.
   * @default `plugin`
   */
  readonly name?: string | undefined;
  /**
   * The existing folder of the executable: two image plugins share a `binDir`.
   * @default a new one
   */
  readonly directory?: string | undefined;
}

/** A plugin that is a real executable. */
export interface TestPlugin {
  /** Absolute path of the executable. */
  readonly command: string;
  /** The folder of the executable: the `binDir` of an image plugin. */
  readonly directory: string;
  /** How often it has been started. */
  runs(): Promise<number>;
  /** The parsed input of the last run: its stdin if it reads that, else `KUBERNETES_EXEC_INFO`. */
  lastInput(): Promise<unknown>;
  lastArgs(): Promise<readonly string[]>;
  /** The environment of the last run, in an object without a prototype. */
  lastEnvironment(): Promise<Readonly<Record<string, string>>>;
  /** Sets the answer of the next runs. */
  answer(answer: PluginAnswer): Promise<void>;
  remove(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Text that a shell does not expand. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * Every run leaves its arguments and environment beside it; the answer lies in files, so no token is in the script. It starts few
 * processes: tests run it hundreds of times. `cd -P` reads the link once, so a run sees the whole of one answer.
 */
const script = (directory: string) => `#!/bin/sh
cd ${quoted(directory)} || exit 70
printf 'x' >> runs
{ printf '%s\\0' "$#" "$@" && env -0; } > "given.$$" && mv "given.$$" given
cd -P ./answer || exit 70
. ./behaviour
[ ! -s stderr ] || cat stderr >&2
[ ! -s stdout ] || cat stdout
exit "$exit_code"
`;

/** Sourced by the script, in the answer's folder: the file `input` is there if the run has read its stdin. */
const behaviour = ({ exitCode = 0, delayMs = 0, auth }: PluginAnswer) =>
  [
    `exit_code=${exitCode}`,
    auth !== undefined ? 'cat > "../input.$$" && mv "../input.$$" ../input' : '[ ! -e ../input ] || rm -f ../input',
    ...(delayMs > 0 ? [`sleep ${(delayMs / 1_000).toFixed(3)}`] : []),
    '',
  ].join('\n');

/**
 * Writes a throw-away plugin (a shell script). Rejects if the name is taken.
 *
 * @example
 * const plugin = await writePlugin({ token: 'token-1' });
 * // { name: 'google', execConfig: { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command } }
 * await plugin.remove();
 *
 * @example
 * const auth = { 'registry.example.dev': { username: 'u', password: 'p' } };
 * await using images = await writePlugin({ auth }, { name: 'login' });
 * // binDir: images.directory, and in the configuration { name: 'login', matchImages: ['registry.example.dev'], ... }
 * await using others = await writePlugin({ auth: null }, { name: 'others', directory: images.directory });
 */
export async function writePlugin(answer: PluginAnswer = {}, place: PluginPlace = {}): Promise<TestPlugin> {
  const { name = 'plugin', directory: folder } = place;
  // What it answers and what it has seen lie here, wherever its executable is.
  const state = await mkdtemp(join(tmpdir(), 'credential-plugin-'));
  const bin = join(state, 'bin');
  const directory = folder === undefined ? bin : resolve(folder);
  const command = join(directory, name);
  const read = (name: string) => readFile(join(state, name), 'utf8').catch(() => '');
  /** What the last run was given: how many arguments, these, and its environment. */
  const given = async () => {
    const [count, ...list] = (await read('given')).split('\0').slice(0, -1);
    return { args: list.slice(0, Number(count)), environment: list.slice(Number(count)) };
  };
  const lastEnvironment = async (): Promise<Readonly<Record<string, string>>> => {
    const variables = (await given()).environment.map((entry) => entry.split(/=(.*)/s, 2));
    return Object.assign(Object.create(null), Object.fromEntries(variables));
  };
  let answers = 0;
  let written = false;
  const plugin: TestPlugin = {
    command,
    directory,
    runs: async () => (await read('runs')).length,
    lastInput: async () => {
      const input = await read('input');
      return JSON.parse(input === '' ? ((await lastEnvironment()).KUBERNETES_EXEC_INFO ?? 'null') : input);
    },
    lastArgs: async () => (await given()).args,
    lastEnvironment,
    answer: async (answer) => {
      answers += 1;
      const folder = `answer-${answers}`;
      const file = (name: string) => join(state, folder, name);
      await mkdir(join(state, folder));
      await writeFile(file('stderr'), answer.stderr ?? '');
      await writeFile(file('stdout'), answer.stdout ?? response(answer));
      await writeFile(file('behaviour'), behaviour(answer));
      // The link changes at once: no run sees a half of an answer.
      await symlink(folder, join(state, 'answer.new'));
      await rename(join(state, 'answer.new'), join(state, 'answer'));
    },
    remove: async () => {
      if (written) await rm(command, { force: true });
      // A run that has just been killed may still write there.
      await rm(state, { recursive: true, force: true, maxRetries: 5 });
    },
    [Symbol.asyncDispose]: () => plugin.remove(),
  };
  try {
    await mkdir(bin);
    await plugin.answer(answer);
    // Never overwrites a file.
    await writeFile(command, script(state), { flag: 'wx', mode: 0o755 });
    written = true;
    await chmod(command, 0o755);
  } catch (error) {
    await plugin.remove();
    throw error;
  }
  return plugin;
}

function response({ auth, cacheKeyType = 'Image', cacheDuration, apiVersion, ...answer }: PluginAnswer): string {
  if (auth !== undefined) {
    return JSON.stringify({
      kind: 'CredentialProviderResponse',
      apiVersion: apiVersion ?? 'credentialprovider.kubelet.k8s.io/v1',
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
