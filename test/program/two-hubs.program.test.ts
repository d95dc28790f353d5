// Two hubs in one kubeconfig, with the same namespaces and names, and a plugin that reads Secrets of the hub.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { startCluster } from '../fixtures/fleet.ts';
import { clusterOf, profileOf } from '../fixtures/operated-fleet.ts';
import { runProgram, startProgram, writeProviders } from '../fixtures/program.ts';
import { shellPlugin, temporaryFolder } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';

const dist = fileURLToPath(new URL('../../dist/', import.meta.url));
const hubs = ['prod', 'staging'] as const;
type Name = (typeof hubs)[number];

/** What another program with the kubeconfig does: one request to the current context. */
const otherProgram = `
  const { RestConfig } = await import(${JSON.stringify(`${dist}index.js`)});
  const config = RestConfig.fromDefault();
  const response = await config.fetch('/version');
  console.log(response.status);
  await config.close();`;

async function startHub(t: TestContext, name: Name) {
  const token = `token-of-${name}`;
  const spoke = await startCluster(t, { tokens: { [token]: 'controller' } });
  const hub = await startCluster(t, { tokens: { [`${name}-hub`]: 'me' } });
  const secrets: string[] = [];
  hub.onRequest = ({ url }) => {
    if (url.includes('/secrets/')) secrets.push(url);
  };
  const metadata = { namespace: 'fleet', name: 'spoke-1' };
  const extension = { clusterName: 'spoke-1', clusterProfileNamespace: 'fleet' };
  const extensions = [{ name: 'client.authentication.k8s.io/exec', extension }];
  const profile = profileOf('spoke-1', 'secretreader', { ...clusterOf(spoke), extensions });
  hub.add([{ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { token } }, profile]);
  return { hub, spoke, secrets, profile };
}

async function start(t: TestContext) {
  const all = { prod: await startHub(t, 'prod'), staging: await startHub(t, 'staging') };
  const folder = await temporaryFolder(t);
  const kubeconfig = (names: readonly Name[]) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': names[0],
      clusters: names.map((name) => ({ name, cluster: clusterOf(all[name].hub) })),
      users: names.map((name) => ({ name, user: { token: `${name}-hub` } })),
      contexts: names.map((name) => ({ name, context: { cluster: name, user: name, namespace: 'fleet' } })),
    });
  const path = (name: string) => join(folder, name);
  const [file, own, profiles] = [path('config'), path('own'), path('profiles.json')];
  await writeFile(file, kubeconfig(hubs));
  await writeFile(own, kubeconfig(['staging']));
  await writeFile(profiles, JSON.stringify(all.staging.profile));
  // What plugins find if nothing leads them.
  const home = await temporaryFolder(t);
  await mkdir(join(home, '.kube'));
  await writeFile(join(home, '.kube/config'), kubeconfig(['prod']));
  const plugin = { command: process.execPath, args: [join(dist, 'plugins/secretreader.js')] };
  const providers = await writeProviders(t, { secretreader: { ...plugin, provideClusterInfo: true } });
  const flags = ['--clusterprofile-provider-file', providers];
  return { ...all, folder, file, own, home, profiles, flags };
}

interface Way {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** How a call names the hub staging, while prod is the current context of what kubectl would use. */
const ways: Readonly<Record<string, (given: Awaited<ReturnType<typeof start>>) => Way>> = {
  '--context': ({ file }) => ({ args: ['--context', 'staging'], env: { KUBECONFIG: file } }),
  'a file of its own': ({ own, home }) => ({ args: ['--kubeconfig', own], env: { HOME: home } }),
  'KUBECONFIG, and plugins with a clean environment': ({ own, home }) => ({
    args: ['--clusterprofile-clean-environment'],
    env: { HOME: home, KUBECONFIG: own },
  }),
};

describe('of two hubs, the one that a call names is the one that its plugins read', () => {
  for (const [how, of] of Object.entries(ways)) {
    test(`by ${how}: check, credential, exec, and other programs with a kubeconfig of this one, and no file of a call outlives it`, async (t) => {
      const started = await start(t);
      const { prod, staging, flags, folder, profiles } = started;
      const { args, ...given } = of(started);
      const TMPDIR = await temporaryFolder(t);
      const env = { ...given.env, TMPDIR };
      const run = (...words: readonly string[]) => runProgram(t, words, { env });
      const merged = join(folder, 'merged');
      const inNode = ['--no-prefix', '--', process.execPath, '-e', otherProgram];
      const [check, fromFile, credential, executed] = await Promise.all([
        run('check', 'spoke-1', ...args, ...flags),
        run('check', '-f', profiles, ...args, ...flags),
        run('credential', 'spoke-1', ...args, ...flags),
        run('exec', 'spoke-1', ...args, ...flags, ...inNode),
        run('kubeconfig', 'spoke-1', '--merge', merged, '--use', 'spoke-1', ...args, ...flags),
      ]);
      assert.equal(check.exitCode, 0, check.stdout + check.stderr);
      assert.equal(fromFile.exitCode, 0, fromFile.stdout + fromFile.stderr);
      assert.equal(JSON.parse(credential.stdout).status?.token, 'token-of-staging', credential.stderr);
      assert.deepEqual([executed.stdout, executed.exitCode], ['200', 0], executed.stderr);
      const { stdout } = await execa(process.execPath, ['-e', otherProgram], {
        env: { ...env, KUBECONFIG: merged },
      });
      assert.equal(stdout, '200');
      assert.deepEqual(prod.secrets, [], 'nothing is read from the other hub');
      assert.equal(prod.spoke.stats.requests, 0);
      assert.ok(staging.secrets.length >= 5);
      assert.deepEqual(readdirSync(TMPDIR), []);
    });
  }

  test('from a pipe: plugins read it, and nothing with the credential of the hub is on disk, even after SIGKILL', async (t) => {
    const { own, flags } = await start(t);
    const input = await readFile(own, 'utf8');
    const TMPDIR = await temporaryFolder(t);
    const piped = ['check', 'spoke-1', '--kubeconfig', '-'];
    const { stdout, stderr, exitCode } = await runProgram(t, [...piped, ...flags], { input, env: { TMPDIR } });
    assert.equal(exitCode, 0, stdout + stderr);

    const { command, runs } = await shellPlugin(t, 'while kill -0 $PPID; do sleep 0.1; done');
    const providers = await writeProviders(t, { secretreader: { command } });
    const hanging = [...piped, '--clusterprofile-provider-file', providers];
    const program = await startProgram(t, hanging, { env: { TMPDIR } });
    program.type(input);
    program.end();
    await until(t, async () => (await runs()) === 1);
    program.kill('SIGKILL');
    await program.ended;
    const left = readdirSync(TMPDIR, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
    for (const { parentPath, name } of left) {
      assert.doesNotMatch(await readFile(join(parentPath, name), 'utf8'), /staging-hub/, name);
    }
  });
});

describe('where the current context is one that this program wrote', () => {
  test('the hub is the one that it names: get, check, credential, completion and other programs work', async (t) => {
    const { prod, staging, file, flags, profiles } = await start(t);
    const env = { KUBECONFIG: file };
    const run = (...words: readonly string[]) => runProgram(t, words, { env });
    const merge = ['kubeconfig', 'spoke-1', '--merge', file, '--use', 'spoke-1', '--context', 'staging', ...flags];
    assert.equal((await run(...merge)).exitCode, 0);
    assert.match(await readFile(file, 'utf8'), /"?current-context"?: "?fleet\/spoke-1@staging/);
    const get = await run('get', '-o', 'name');
    assert.deepEqual([get.stdout, get.exitCode], ['clusterprofile.multicluster.x-k8s.io/spoke-1', 0], get.stderr);
    assert.equal((await run('check', 'spoke-1', ...flags)).exitCode, 0);
    assert.equal((await run('check', '-f', profiles, ...flags)).exitCode, 0);
    const completed = await run('__complete', 'get', 'spoke');
    assert.equal(completed.stdout, 'spoke-1\t\n:4');
    const credential = await run('credential', 'fleet/spoke-1', ...flags);
    assert.equal(JSON.parse(credential.stdout).status?.token, 'token-of-staging', credential.stderr);
    const executed = await run('exec', 'spoke-1', ...flags, '--no-prefix', '--', process.execPath, '-e', otherProgram);
    assert.deepEqual([executed.stdout, executed.exitCode], ['200', 0], executed.stderr);
    const { stdout } = await execa(process.execPath, ['-e', otherProgram], { env });
    assert.equal(stdout, '200');
    assert.deepEqual(prod.secrets, []);
    assert.ok(staging.secrets.length > 0);
  });

  test('and does not name a hub, the error says how to name it', async (t) => {
    const { file, flags, profiles } = await start(t);
    const merge = ['kubeconfig', '-f', profiles, '--merge', file, '--use', 'spoke-1', ...flags];
    const merged = await runProgram(t, merge);
    assert.equal(merged.exitCode, 0, merged.stderr);
    const { stderr, exitCode } = await runProgram(t, ['get'], { env: { KUBECONFIG: file } });
    assert.equal(exitCode, 3);
    assert.match(stderr, /the current context fleet\/spoke-1 is one that this program wrote .*\n.*--context/);
  });
});
