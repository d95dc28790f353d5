// The three first programs, as they are, with a provider file and ClusterProfiles on a hub.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { execa } from 'execa';
import { blocks, read, root } from '../fixtures/docs.ts';
import { newNamespace } from '../fixtures/fleet.ts';
import { kubeconfigFor, startHub } from '../fixtures/fleet-hub.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';

/** A folder with a provider file, and a program of examples/first in it. */
async function start(t: TestContext, program: string) {
  const { hub, publish, spoke, plugin } = await startHub(t);
  const cluster = await spoke();
  cluster.add({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } });
  publish('fleet-system/spoke-1', cluster);
  publish('fleet-system/spoke-2', 'https://127.0.0.1:1');
  const folder = await temporaryFolder(t);
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command };
  writeFileSync(join(folder, 'providers.yaml'), JSON.stringify({ providers: [{ name: 'fake', execConfig }] }));
  writeFileSync(join(folder, 'kubeconfig'), kubeconfigFor(hub, 'hub'));
  const child = execa(process.execPath, [join(root, 'examples/first', program)], {
    cwd: folder,
    env: { KUBECONFIG: join(folder, 'kubeconfig') },
    all: true,
    reject: false,
  });
  t.after(() => child.kill('SIGKILL'));
  return { child, cluster };
}

test('the first program has a client for a ClusterProfile by its name, and ends by itself', async (t) => {
  const { child } = await start(t, 'client.ts');
  const { all, exitCode } = await child;
  assert.deepEqual([all, exitCode], ["[ 'node-1' ]", 0]);
});

test('the program for every cluster prints a result or an error for each, and fails if one has failed', async (t) => {
  const { child } = await start(t, 'every-cluster.ts');
  const { all, exitCode } = await child;
  assert.match(all, /^fleet-system\/spoke-1 1 nodes\nfleet-system\/spoke-2 ConnectionError \[CONNECT_FAILED\]: /m);
  assert.equal(exitCode, 1);
});

test('the first controller sees each change, and ends with SIGTERM', async (t) => {
  const { child, cluster } = await start(t, 'controller.ts');
  let output = '';
  child.all.on('data', (chunk) => {
    output += chunk;
  });
  await until(t, () => output.includes('fleet-system/spoke-1 kube-system Active'));
  cluster.add(newNamespace('later'));
  await until(t, () => output.includes('fleet-system/spoke-1 later Active'));
  child.kill('SIGTERM');
  const { exitCode, all } = await child;
  assert.equal(exitCode, 0, all);
});

test('the pages of the first three jobs show the programs as they are, in at most 7, 10 and 12 lines', () => {
  for (const [page, program, most] of [
    ['one-cluster', 'client', 7],
    ['every-cluster', 'every-cluster', 10],
    ['first-controller', 'controller', 12],
  ] as const) {
    const code = read(`examples/first/${program}.ts`)
      .replace(/^(?:\/\/.*\n)+/, '')
      .trim();
    assert.equal(blocks(`docs/${page}.md`, 'ts')[0]?.trim(), code);
    const lines = code.split('\n').filter((line) => line !== '');
    assert.ok(lines.length <= most, `${program}: ${lines.length}`);
  }
});
