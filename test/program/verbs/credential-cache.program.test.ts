// credential --cache as kubectl runs it: a process for every command, beside a hub that counts what it is asked.
import assert from 'node:assert/strict';
import { chmod, chown, cp, mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { execCredential } from '../../fixtures/clouds.ts';
import { clusterOf, profileOf, startOperatedFleet } from '../../fixtures/operated-fleet.ts';
import { runProgram, startProgram, writeInput, writeProviders } from '../../fixtures/program.ts';
import { print, shellPlugin, temporaryFolder } from '../../fixtures/script.ts';

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString().replace(/\.\d+/, '');
const hour = 3_600_000;

/** A hub with `fleet/a` and `fleet/b`, whose plugin says which run of it an answer is of. */
async function startCached(t: TestContext, expirationTimestamp: string | null = inMs(hour)) {
  const { hub, spoke, env } = await startOperatedFleet(t);
  hub.add([profileOf('a', 'counted', clusterOf(spoke)), profileOf('b', 'counted', clusterOf(spoke))]);
  const answer = print({ token: 'run-RUN', expirationTimestamp });
  const plugin = await shellPlugin(t, `(${answer}\n) | sed "s/RUN/$(wc -l < "$DIR/runs" | tr -d ' ')/"`);
  const providers = await writeProviders(t, { counted: { command: plugin.command } });
  let requests = 0;
  hub.onRequest = () => {
    requests += 1;
  };
  const [cache, HOME] = [await temporaryFolder(t), await temporaryFolder(t)];
  const folder = join(cache, 'clusterprofile');
  // Else each run would have another HOME, and so another environment.
  const environment = { ...env, XDG_CACHE_HOME: cache, HOME };
  const flags = ['--clusterprofile-provider-file', providers];
  const credential = (name: string, ...more: string[]) =>
    runProgram(t, ['credential', name, '--cache', ...flags, ...more], { env: environment });
  return {
    plugin,
    providers,
    flags,
    folder,
    env: environment,
    requests: () => requests,
    credential,
    token: async (name: string, ...more: string[]): Promise<unknown> => {
      const { stdout, stderr, exitCode } = await credential(name, ...more);
      assert.deepEqual([stderr, exitCode], ['', 0]);
      return JSON.parse(stdout).status.token;
    },
    entries: async () => (await readdir(folder)).map((name) => join(folder, name)),
  };
}

describe('credential --cache', { concurrency: 4 }, () => {
  test('keeps an answer, by --cache=true too: the hub is not asked again and the plugin does not run again, and nobody else can read it', async (t) => {
    const { token, requests, plugin, entries, folder, env, flags } = await startCached(t);
    assert.equal(await token('fleet/a'), 'run-1');
    const asked = requests();
    assert.equal(await token('fleet/a'), 'run-1');
    assert.ok(asked > 0);
    assert.deepEqual([requests(), await plugin.runs()], [asked, 1]);
    const [file = ''] = await entries();
    const modes = await Promise.all([folder, file].map(async (path) => ((await stat(path)).mode & 0o777).toString(8)));
    assert.deepEqual(modes, ['700', '600']);
    assert.equal(await token('fleet/b'), 'run-2');
    for (const [more, expected] of [
      [[], 'run-3'],
      // As kubectl writes an option.
      [['--cache=true'], 'run-4'],
      [['--cache=true'], 'run-4'],
    ] as const) {
      const { stdout } = await runProgram(t, ['credential', 'fleet/a', ...more, ...flags], { env });
      assert.equal(JSON.parse(stdout).status.token, expected);
    }
  });

  test('runs the plugin again when something that leads to the answer is another one', async (t) => {
    const { token, credential, providers, env, flags } = await startCached(t);
    assert.equal(await token('fleet/a'), 'run-1');
    assert.equal(await token('fleet/a', '--clusterprofile-clean-environment'), 'run-2');
    await utimes(providers, new Date(), new Date(1_000_000_000_000));
    assert.equal(await token('fleet/a'), 'run-3');
    await utimes(env.KUBECONFIG, new Date(), new Date(1_000_000_000_000));
    assert.equal(await token('fleet/a'), 'run-4');
    const args = ['credential', 'fleet/a', '--cache', ...flags];
    const other = await runProgram(t, args, { env: { ...env, HOME: env.XDG_CACHE_HOME } });
    assert.equal(JSON.parse(other.stdout).status.token, 'run-5');
    const KUBERNETES_EXEC_INFO = JSON.stringify(execCredential(undefined, 'https://old'));
    const moved = await runProgram(t, args, { env: { ...env, KUBERNETES_EXEC_INFO } });
    assert.match(moved.stderr, /no credential is given/);
    assert.equal(JSON.parse((await credential('fleet/a')).stdout).status.token, 'run-4');
    // An empty variable is none.
    const home = join(env.HOME, '.kube', 'config');
    await cp(env.KUBECONFIG, home, { recursive: true });
    for (const token of ['run-6', 'run-7']) {
      const { stdout } = await runProgram(t, args, { env: { ...env, KUBECONFIG: '' } });
      assert.equal(JSON.parse(stdout).status.token, token);
      await utimes(home, new Date(), new Date(1_000_000_000_000));
    }
  });

  test('keeps the answer for another folder, another variable, and another namespace of the context that is named', async (t) => {
    const { credential, env, flags, plugin } = await startCached(t);
    const args = ['credential', 'fleet/a', '--cache', '--kubeconfig', env.KUBECONFIG, '--context', 'hub', ...flags];
    assert.equal((await runProgram(t, args, { env })).exitCode, 0);
    await utimes(env.KUBECONFIG, new Date(), new Date(1_000_000_000_000));
    const elsewhere = { env: { ...env, AWS_PROFILE: 'other', SHLVL: '3' }, cwd: env.XDG_CACHE_HOME };
    const { stdout } = await runProgram(t, args, elsewhere);
    assert.equal(JSON.parse(stdout).status.token, 'run-1');
    assert.equal(await plugin.runs(), 1);
    await credential('fleet/b');
    const check = await runProgram(t, ['check', 'a', '-n', 'fleet', ...flags], { env });
    assert.match(check.stdout, /clients use a cached one for another 59 min.*credential --forget fleet\/a/);
  });

  test('reads ClusterProfiles of a file again when it has changed, and keeps nothing of stdin', async (t) => {
    const { token, env, flags, plugin } = await startCached(t);
    const profile = JSON.stringify(profileOf('f', 'counted', { server: 'https://h' }));
    const file = await writeInput(t, 'p.json', profile);
    assert.equal(await token('fleet/f', `-f${file}`), 'run-1');
    assert.equal(await token('fleet/f', `-f${file}`), 'run-1');
    await writeFile(file, `${profile}\n`);
    assert.equal(await token('fleet/f', `-f${file}`), 'run-2');
    const stdin = ['credential', 'fleet/f', '--cache', '-f', '-', ...flags];
    await runProgram(t, stdin, { env, input: profile });
    await runProgram(t, stdin, { env, input: profile });
    assert.equal(await plugin.runs(), 4);
  });

  for (const [what, expiry] of [
    ['without an expiry', null],
    ['that has expired', inMs(-hour)],
    ['that expires within a minute', inMs(50_000)],
  ] as const) {
    test(`keeps no credential ${what}`, async (t) => {
      const { token, entries } = await startCached(t, expiry);
      assert.equal(await token('fleet/a'), 'run-1');
      assert.equal(await token('fleet/a'), 'run-2');
      assert.deepEqual(await entries(), []);
    });
  }

  test('runs the plugin again shortly before the expiry, and takes away what has expired', async (t) => {
    const { token, entries } = await startCached(t);
    await token('fleet/a');
    const [first = ''] = await entries();
    const text = await readFile(first, 'utf8');
    await writeFile(first, JSON.stringify({ ...JSON.parse(text), expiresAt: Date.now() + 50_000 }));
    assert.equal(await token('fleet/b'), 'run-2');
    assert.equal((await entries()).includes(first), false);
    assert.equal(await token('fleet/a'), 'run-3');
  });

  test('refuses a folder or a file that others can read, and says chmod', async (t) => {
    const { token, credential, entries, folder, requests } = await startCached(t);
    await mkdir(folder, { mode: 0o755 });
    await chmod(folder, 0o755);
    const open = await credential('fleet/a');
    assert.deepEqual([open.stdout, open.exitCode, requests()], ['', 3, 0]);
    assert.equal(
      open.stderr,
      `error: ${folder} is open to other users (mode 755), and credentials are kept there; chmod 700 ${folder}`,
    );
    await chmod(folder, 0o700);
    await token('fleet/a');
    const [file = ''] = await entries();
    await chmod(file, 0o640);
    const readable = await credential('fleet/a');
    assert.equal(readable.stdout, '');
    assert.ok(readable.stderr.endsWith(`; chmod 600 ${file}`), readable.stderr);
    await chmod(file, 0o600);
    assert.equal(await token('fleet/a'), 'run-1');
  });

  test('says what is wrong with a folder that cannot be used, answers where an answer cannot be kept, and does not wait for ever', async (t) => {
    const { env, flags, credential } = await startCached(t);
    const file = await writeInput(t, 'file', '');
    const folders = [file, '/proc/none'];
    const results = await Promise.all([
      ...folders.map((cache) =>
        runProgram(t, ['credential', 'fleet/a', '--cache', ...flags], { env: { ...env, XDG_CACHE_HOME: cache } }),
      ),
      runProgram(t, ['kubeconfig', '--merge', '/proc/none/config', ...flags], { env }),
    ]);
    assert.deepEqual(
      results.map(({ stdout, stderr, exitCode }) => [stdout, stderr, exitCode]),
      [
        ...[
          `(ENOTDIR: not a directory, mkdir '${file}/clusterprofile')`,
          "(ENOENT: no such file or directory, mkdir '/proc/none')",
        ].map((what) => [
          '',
          `error: the folder for --cache cannot be used ${what}; name another one in XDG_CACHE_HOME, or leave --cache out`,
          3,
        ]),
        ['', 'error: /proc/none/config cannot be changed (ENOENT)', 3],
      ],
    );
    await writeFile(join(env.XDG_CACHE_HOME, 'clusterprofile'), '', { mode: 0o600 });
    const [kept, forgotten] = await Promise.all([
      credential('fleet/a'),
      runProgram(t, ['credential', '--forget'], { env }),
    ]);
    assert.match(kept.stderr, /^the credential of fleet\/a is not kept: .* cannot be written \(ENOTDIR\)$/);
    assert.match(forgotten.stderr, /^error: the folder for --cache cannot be used \(ENOTDIR: .*clusterprofile'\)/);
    assert.deepEqual([JSON.parse(kept.stdout).status.token, kept.exitCode, forgotten.exitCode], ['run-1', 0, 3]);
  });

  test("refuses a folder of another user's", async (t) => {
    const { credential, folder } = await startCached(t);
    if (process.getuid?.() === 0) {
      await mkdir(folder, { mode: 0o700 });
      await chown(folder, 12_345, 0);
    } else await symlink('/', folder);
    const { stdout, stderr, exitCode } = await credential('fleet/a');
    assert.deepEqual([stdout, exitCode], ['', 3]);
    assert.match(
      stderr,
      /belongs to user \d+, and credentials of user \d+ are to be kept there; chown .* && chmod 700 /,
    );
  });

  test('a file that is cut off, empty or of another kind is as none', async (t) => {
    const { token, entries } = await startCached(t);
    await token('fleet/a');
    const [file = ''] = await entries();
    const text = await readFile(file, 'utf8');
    let run = 1;
    for (const broken of ['', text.slice(0, 40), '{"expiresAt":9e15}']) {
      await writeFile(file, broken);
      run += 1;
      assert.equal(await token('fleet/a'), `run-${run}`, broken);
    }
    assert.equal(await token('fleet/a'), `run-${run}`);
  });

  test('two processes at once both answer, and leave one whole file', async (t) => {
    const { token, entries, plugin } = await startCached(t);
    const tokens = await Promise.all([token('fleet/a'), token('fleet/a'), token('fleet/a')]);
    const runs = await plugin.runs();
    assert.equal((await entries()).length, 1);
    assert.ok(tokens.includes(await token('fleet/a')));
    assert.equal(await plugin.runs(), runs);
  });

  test('is shown neither on a terminal without --show, kept or not, nor as a completion of the same words', async (t) => {
    const { token, env, flags } = await startCached(t);
    await token('fleet/a');
    const args = ['credential', 'fleet/a', '--cache', ...flags];
    const shown = await startProgram(t, args, { env, terminal: true });
    assert.equal(await shown.ended, 2);
    assert.doesNotMatch(shown.shown(), /run-1/);
    const name = 'kubectl_complete-clusterprofile';
    const { stdout } = await runProgram(t, ['credential', 'fleet/a', ...flags, '--cache'], { env, name });
    const { stdout: same } = await runProgram(t, args, { env, name });
    assert.match(stdout, /^--cache/);
    assert.doesNotMatch(same, /run-1/);
  });

  test('--forget takes away the answers of one ClusterProfile, or all', async (t) => {
    const { token, env, entries } = await startCached(t);
    await token('fleet/a');
    await token('fleet/b');
    const forget = async (...args: string[]) => {
      const { stdout, stderr, exitCode } = await runProgram(t, ['credential', ...args], { env });
      assert.deepEqual([stdout, exitCode], ['', 0]);
      return stderr;
    };
    const other = await runProgram(t, ['credential', '--forget', 'a', '-n', 'other'], { env });
    assert.match(other.stderr, /^error: no credential of a is kept\nhint: /);
    assert.equal(other.exitCode, 5);
    assert.equal(await forget('clusterprofile.multicluster.x-k8s.io/a', '--forget'), 'forgot 1 credential');
    assert.equal((await entries()).length, 1);
    assert.equal(await token('fleet/b'), 'run-2');
    assert.equal(await token('fleet/a'), 'run-3');
    assert.equal(await forget('--forget'), 'forgot 2 credentials');
    assert.deepEqual(await entries(), []);
    assert.equal(await forget('--forget'), 'forgot 0 credentials');
    const { stderr, exitCode } = await runProgram(t, ['credential', '--cache'], { env });
    assert.match(stderr, /^error: credential needs the name of a ClusterProfile; /);
    assert.equal(exitCode, 2);
  });

  test('is what the users of kubeconfig --cache exec', async (t) => {
    const { env, flags } = await startCached(t);
    const [cached, plain] = await Promise.all([
      runProgram(t, ['kubeconfig', 'a', '--cache', ...flags], { env }),
      runProgram(t, ['kubeconfig', 'a', ...flags], { env }),
    ]);
    const argsOf = (stdout: string): readonly string[] => parse(stdout).users[0].user.exec.args;
    assert.deepEqual(
      argsOf(cached.stdout).filter((arg) => arg !== '--cache'),
      argsOf(plain.stdout),
    );
    assert.ok(argsOf(cached.stdout).includes('--cache'));
  });
});
