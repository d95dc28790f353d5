// Two hubs in one kubeconfig, with the same namespaces and names, and a plugin that reads Secrets of the hub.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startCluster } from '../fixtures/fleet.ts';
import { runProgram } from '../fixtures/program.ts';
import { temporaryFolder } from '../fixtures/script.ts';

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
  const profile = {
    apiVersion: 'multicluster.x-k8s.io/v1alpha1',
    kind: 'ClusterProfile',
    metadata,
    spec: { clusterManager: { name: 'test' } },
    status: {
      accessProviders: [
        {
          name: 'secretreader',
          cluster: {
            server: spoke.url,
            'certificate-authority-data': spoke.certificateAuthorityData,
            extensions: [
              {
                name: 'client.authentication.k8s.io/exec',
                extension: { clusterName: 'spoke-1', clusterProfileNamespace: 'fleet' },
              },
            ],
          },
        },
      ],
    },
  };
  hub.add([{ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { token } }, profile]);
  return { hub, spoke, secrets, profile };
}

async function start(t: TestContext) {
  const all = { prod: await startHub(t, 'prod'), staging: await startHub(t, 'staging') };
  const folder = await temporaryFolder(t);
  const entries = (kind: string, of: (name: Name) => object) => ({
    [kind]: hubs.map((name) => ({ name, ...of(name) })),
  });
  const kubeconfig = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'prod',
    ...entries('clusters', (name) => ({
      cluster: {
        server: all[name].hub.url,
        'certificate-authority-data': all[name].hub.certificateAuthorityData,
      },
    })),
    ...entries('users', (name) => ({ user: { token: `${name}-hub` } })),
    ...entries('contexts', (name) => ({ context: { cluster: name, user: name, namespace: 'fleet' } })),
  });
  const file = join(folder, 'config');
  await writeFile(file, kubeconfig);
  const provider = {
    name: 'secretreader',
    execConfig: {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: process.execPath,
      args: [join(dist, 'plugins/secretreader.js')],
      provideClusterInfo: true,
    },
  };
  const providers = join(folder, 'providers.json');
  await writeFile(providers, JSON.stringify({ providers: [provider] }));
  const flags = ['--clusterprofile-provider-file', providers];
  return { ...all, folder, file, flags };
}

describe('of two hubs, the one that a call names is the one that its plugins read', () => {
  for (const [how, of] of [
    ['--context', (file: string) => ({ args: ['--context', 'staging'], env: { KUBECONFIG: file } })],
    [
      '--kubeconfig and --context',
      (file: string) => ({ args: ['--kubeconfig', file, '--context', 'staging'], env: {} }),
    ],
  ] as const) {
    test(`by ${how}: check, credential, exec, and other programs with a kubeconfig of this one`, async (t) => {
      const { prod, staging, file, flags, folder } = await start(t);
      const { args, env } = of(file);
      const run = (...words: readonly string[]) => runProgram(t, words, { env });
      const check = await run('check', 'spoke-1', ...args, ...flags);
      assert.equal(check.exitCode, 0, check.stdout + check.stderr);
      const credential = await run('credential', 'spoke-1', ...args, ...flags);
      assert.equal(JSON.parse(credential.stdout).status?.token, 'token-of-staging', credential.stderr);
      const exec = ['exec', 'spoke-1', ...args, ...flags, '--no-prefix', '--', process.execPath, '-e', otherProgram];
      const executed = await run(...exec);
      assert.deepEqual([executed.stdout, executed.exitCode], ['200', 0], executed.stderr);
      const merged = join(folder, 'merged');
      await run('kubeconfig', 'spoke-1', '--merge', merged, '--use', 'spoke-1', ...args, ...flags);
      const other = await runProgram(t, ['version'], { env });
      assert.equal(other.exitCode, 0);
      const { execa } = await import('execa');
      const { stdout } = await execa(process.execPath, ['-e', otherProgram], { env: { KUBECONFIG: merged } });
      assert.equal(stdout, '200');
      assert.deepEqual(prod.secrets, [], 'nothing is read from the other hub');
      assert.equal(prod.spoke.stats.requests, 0);
      assert.ok(staging.secrets.length >= 4);
    });
  }

  test('and no file of a call outlives it, nor holds a credential of the hub', async (t) => {
    const { file, flags } = await start(t);
    const TMPDIR = await temporaryFolder(t);
    const env = { KUBECONFIG: file, TMPDIR };
    const { exitCode } = await runProgram(t, ['check', 'spoke-1', '--context', 'staging', ...flags], { env });
    assert.equal(exitCode, 0);
    assert.deepEqual(readdirSync(TMPDIR), []);
  });
});

describe('where the current context is one that this program wrote', () => {
  test('the hub is the one that it names: get, check, credential and other programs work', async (t) => {
    const { prod, staging, file, flags } = await start(t);
    const env = { KUBECONFIG: file };
    const run = (...words: readonly string[]) => runProgram(t, words, { env });
    const merge = ['kubeconfig', 'spoke-1', '--merge', file, '--use', 'spoke-1', '--context', 'staging', ...flags];
    assert.equal((await run(...merge)).exitCode, 0);
    assert.match(await readFile(file, 'utf8'), /"?current-context"?: "?fleet\/spoke-1@staging/);
    const get = await run('get', '-o', 'name');
    assert.deepEqual([get.stdout, get.exitCode], ['clusterprofile.multicluster.x-k8s.io/spoke-1', 0], get.stderr);
    assert.equal((await run('check', 'spoke-1', ...flags)).exitCode, 0);
    const credential = await run('credential', 'fleet/spoke-1', ...flags);
    assert.equal(JSON.parse(credential.stdout).status?.token, 'token-of-staging', credential.stderr);
    const executed = await run('exec', 'spoke-1', ...flags, '--no-prefix', '--', process.execPath, '-e', otherProgram);
    assert.deepEqual([executed.stdout, executed.exitCode], ['200', 0], executed.stderr);
    const { execa } = await import('execa');
    const { stdout } = await execa(process.execPath, ['-e', otherProgram], { env });
    assert.equal(stdout, '200');
    assert.deepEqual(prod.secrets, []);
    assert.ok(staging.secrets.length > 0);
  });

  test('and does not name a hub, the error says how to name it', async (t) => {
    const { file, flags, folder, staging } = await start(t);
    const profiles = join(folder, 'profiles.json');
    await writeFile(profiles, JSON.stringify(staging.profile));
    const merge = ['kubeconfig', '-f', profiles, '--merge', file, '--use', 'spoke-1', ...flags];
    const merged = await runProgram(t, merge);
    assert.equal(merged.exitCode, 0, merged.stderr);
    const { stderr, exitCode } = await runProgram(t, ['get'], { env: { KUBECONFIG: file } });
    assert.equal(exitCode, 3);
    assert.match(stderr, /the current context fleet\/spoke-1 is one that this program wrote .*\n.*--context/);
  });
});
