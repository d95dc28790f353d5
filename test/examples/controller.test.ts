import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { parse } from 'yaml';
import { profileFor, startCluster, startPlugin } from '../fixtures/fleet.ts';
import { clusterOf, kubeconfig } from '../fixtures/kubeconfigs.ts';
import { temporaryFolder } from '../fixtures/script.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const crd = parse(readFileSync(join(root, 'crds/multicluster.x-k8s.io_clusterprofiles.yaml'), 'utf8'));

/** Gives a function that waits for a line of what a process says on both streams. */
function listen(t: TestContext, input: Readable): (pattern: RegExp) => Promise<void> {
  const said: string[] = [];
  let tell = () => {};
  const lines = createInterface({ input });
  lines.on('line', (line) => {
    said.push(line);
    tell();
  });
  return async (pattern) => {
    while (!said.some((line) => pattern.test(line))) {
      await new Promise<void>((resolve, reject) => {
        tell = resolve;
        t.signal.addEventListener('abort', () => reject(new Error(`never said ${pattern}: ${said.join('\n')}`)));
      });
    }
  };
}

test('examples/controller.ts keeps a watch on each cluster, and says which one fails and why', async (t) => {
  const hub = await startCluster(t, { customResourceDefinitions: [crd] });
  const spoke = await startCluster(t);
  const plugin = await startPlugin(t);
  const path = join(await temporaryFolder(t), 'config');
  await writeFile(path, kubeconfig({ cluster: clusterOf(hub), exec: null, user: { token: 'token-1' } }));
  const { status } = profileFor(spoke);
  const publish = (name: string, more: object) =>
    hub.set({
      apiVersion: 'multicluster.x-k8s.io/v1alpha1',
      kind: 'ClusterProfile',
      metadata: { name, namespace: 'fleet' },
      spec: { clusterManager: { name: 'test' } },
      status: more,
    });
  publish('good', { ...status });
  publish('bad', { accessProviders: [{ name: 'fake', cluster: { server: 'ftp://h' } }] });
  const program = join(root, 'examples/controller.ts');
  const controller = execa(process.execPath, [program, `--clusterprofile-access-provider=fake=${plugin.command}`], {
    env: { KUBECONFIG: path },
    all: true,
    reject: false,
    cancelSignal: t.signal,
  });
  const says = listen(t, controller.all);
  await says(/^fleet\/good: namespace kube-system$/);
  await says(/^fleet\/bad: ProfileError: ClusterProfile fleet\/bad: .*\.cluster\.server: has the scheme ftp:/);
  // A heartbeat of the status changes nothing about how the cluster is reached.
  publish('good', { ...status, version: { kubernetes: '1.36' } });
  spoke.emit('ADDED', 'later');
  await says(/^fleet\/good: namespace later$/);
  publish('late', { ...status });
  await says(/^fleet\/late: namespace later$/);
  assert.equal(await plugin.runs(), 1);
  controller.kill('SIGKILL');
  await controller;
});
