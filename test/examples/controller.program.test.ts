import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import type { FakeCluster } from '../../src/testing/index.ts';
import { newNamespace } from '../fixtures/fleet.ts';
import { kubeconfigFor, startHub } from '../fixtures/fleet-hub.ts';
import { writeInput } from '../fixtures/program.ts';
import { shellPlugin } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';

const program = fileURLToPath(new URL('../../examples/controller.ts', import.meta.url));

/** Starts the example on a hub, with a plugin. */
async function start(t: TestContext, hub: FakeCluster, command: string, env: Readonly<Record<string, string>> = {}) {
  const KUBECONFIG = await writeInput(t, 'kubeconfig', kubeconfigFor(hub, 'hub'));
  const child = execa(process.execPath, [program, '--clusterprofile-access-provider', `fake=${command}`], {
    env: { KUBECONFIG, PORT: '0', ...env },
    all: true,
    reject: false,
  });
  t.after(() => child.kill('SIGKILL'));
  return { child };
}

test('the example controller hands its shards over on SIGTERM while a plugin runs', async (t) => {
  const { hub, publish, spoke } = await startHub(t);
  publish('slow', await spoke());
  const plugin = await shellPlugin(t, 'exec sleep 1000');
  const { child } = await start(t, hub, plugin.command, { POD_NAMESPACE: 'default' });
  const held = () =>
    hub.list({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }).filter(({ spec }) => Object(spec).holderIdentity);
  await until(t, async () => (await plugin.runs()) > 0);
  assert.ok(held().length > 0);
  child.kill('SIGTERM');
  const { exitCode, all } = await child;
  assert.equal(exitCode, 0, all);
  assert.deepEqual(held(), []);
});

test('the example controller is ready when it has read the hub and tried every cluster, labels the namespaces of each, says why one fails, serves its metrics, and ends when it is told to', async (t) => {
  const { hub, publish, spoke, plugin } = await startHub(t);
  const cluster = await spoke();
  publish('one', cluster);
  publish('dead', 'https://127.0.0.1:1');
  let isAway = true;
  hub.failNext(503, 1_000, ({ url }) => isAway && url.includes('/clusterprofiles'));
  const { child } = await start(t, hub, plugin.command);
  let said = '';
  child.all.on('data', (data) => {
    said += data;
  });
  await until(t, () => said.includes('metrics and probes on port') && said.includes('ClusterProfile'));
  const port = /on port (\d+)/.exec(said)?.[1];
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  const statusOf = async (path: string) => (await get(path)).status;
  assert.deepEqual([await statusOf('/healthz'), await statusOf('/readyz'), await statusOf('/')], [200, 503, 404]);
  isAway = false;
  await until(t, async () => (await statusOf('/readyz')) === 200);
  const metrics = await get('/metrics');
  assert.match(metrics.headers.get('content-type') ?? '', /^text\/plain/);
  const text = await metrics.text();
  for (const line of [
    /^clusterprofile_fleet_clusters\{state="Engaged"\} 1$/m,
    /^clusterprofile_credential_requests_total\{.*state="ok".*\} [12]$/m,
  ]) {
    assert.match(text, line);
  }
  const labelOf = (name: string) =>
    cluster.get({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })?.metadata.labels?.['example.dev/cluster'];
  await until(t, () => labelOf('default') === 'fleet.one' && labelOf('kube-system') === 'fleet.one');
  cluster.add(newNamespace('later'));
  await until(t, () => labelOf('later') === 'fleet.one');
  // A scrape that never becomes a whole request must not hold up the end.
  const half = connect(Number(port), '127.0.0.1', () => half.write('GET /metrics HTTP/1.1\r\n'));
  t.after(() => half.destroy());
  half.on('error', () => undefined);
  await once(half, 'connect');
  child.kill('SIGTERM');
  const { exitCode, all } = await child;
  assert.equal(exitCode, 0, all);
  assert.match(all, /^fleet\/one is in use: https:\/\/127\.0\.0\.1:\d+$/m);
  assert.match(all, /^fleet\/one: labelled later$/m);
  assert.match(all, /fleet\/dead cannot be engaged \(REQUEST\/CONNECT_FAILED\), next try in [12] s/);
  assert.match(all, /^fleet\/one is disengaged \(FLEET_CLOSED\): the fleet ends$/m);
});
