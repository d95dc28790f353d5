// The first hour on real API servers: `publish` of a kubeconfig's contexts, then the three programs of examples/first as they are.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { runProgram } from '../fixtures/program.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';
import { kubectlOf, startHub } from './crd.ts';
import { adminFile, kubeconfigOf, lifetimeOf } from './fixture.ts';
import { kinds, startSpoke } from './spoke.ts';

test('the three first programs run on the clusters of a kubeconfig that publish has published', async (t) => {
  const life = lifetimeOf(t);
  const [hub, ...spokes] = await Promise.all([
    startHub(life),
    ...['spoke-1', 'spoke-2'].map((name) => startSpoke(life, name, kinds.token)),
  ]);
  await kubectlOf(hub, 'create', 'namespace', 'fleet-system');
  const folder = await temporaryFolder(t);
  const env = { KUBECONFIG: await adminFile(t, hub) };
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Never' };
  const kubeconfig = spokes.map(({ plane, plugin: { command } }) => {
    return { name: plane.name, served: plane, user: { exec: { ...exec, command } } };
  });
  await writeFile(join(folder, 'spokes'), kubeconfigOf(kubeconfig));
  const flags = ['--from-kubeconfig', join(folder, 'spokes'), '--providers', join(folder, 'providers.yaml')];
  const published = await runProgram(t, ['publish', '-n', 'fleet-system', ...flags], { env });
  assert.deepEqual([published.stderr, published.exitCode], ['', 0], published.stdout);

  const run = (name: string) => {
    const program = fileURLToPath(new URL(`../../examples/first/${name}.ts`, import.meta.url));
    return execa(process.execPath, [program], { cwd: folder, env, all: true, reject: false });
  };
  const client = await run('client');
  assert.deepEqual([client.all, client.exitCode], ['[]', 0]);
  const every = await run('every-cluster');
  assert.equal(every.all, 'fleet-system/spoke-1 0 nodes\nfleet-system/spoke-2 0 nodes');
  assert.equal(every.exitCode, 0);

  const controller = run('controller');
  life.after(() => controller.kill('SIGKILL'));
  let output = '';
  controller.all.on('data', (data) => {
    output += data;
  });
  for (const { plane } of spokes) {
    await kubectlOf(plane, 'create', 'namespace', 'later');
    await until(t, () => output.includes(`fleet-system/${plane.name} later Active`));
  }
  controller.kill('SIGTERM');
  const { exitCode, all } = await controller;
  assert.equal(exitCode, 0, all);
});
