// Real time and a real network, in which every answer of the hub is late. The model plays thousands of such schedules.
import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { FakeCluster } from '../../../src/testing/index.ts';
import { restConfigFor, startHub } from '../../fixtures/fleet-hub.ts';
import { listen } from '../../fixtures/listen.ts';
import { clusterNames, engagedIn, shared } from '../../fixtures/replicas.ts';
import { until } from '../../fixtures/until.ts';

/** A Lease of 15 s for 30: half of all times that the documentation names. */
const leaseDurationMs = 15_000;

/** A proxy that delays whatever the hub says. */
async function startSlowPath(t: TestContext, { url }: FakeCluster) {
  const path = { answerMs: 0 };
  const { port } = await listen(
    t,
    createServer((socket) => {
      const behind = connect(Number(new URL(url).port), '127.0.0.1');
      t.after(() => behind.destroy());
      socket.pipe(behind);
      behind.on('data', (data) => setTimeout(() => socket.destroyed || socket.write(data), path.answerMs));
      behind.on('error', () => socket.destroy()).on('close', () => socket.destroy());
      socket.on('close', () => behind.destroy());
    }),
  );
  return { path, url: `https://127.0.0.1:${port}` };
}

test('a hub that is slow, and for a while much slower, takes no cluster from its replica for long', async (t) => {
  const { hub, spoke, publish, fleet } = await startHub(t);
  const slow = await startSlowPath(t, hub);
  const cluster = await spoke();
  const names = clusterNames(8);
  for (const name of names) publish(name.replace('fleet/', ''), cluster);
  const far = { url: slow.url, certificateAuthorityData: hub.certificateAuthorityData };
  const reconciled = new Map<string, number>();
  const replicas = ['one', 'two'].map((identity) => {
    const replica = fleet({
      hub: restConfigFor(far, 'hub'),
      sharding: { namespace: 'default', name: 'slow', identity, leaseDurationMs },
    });
    replica.controller({
      name: 'counts',
      for: { apiVersion: 'v1', kind: 'Namespace' },
      reconcile: (_request, { cluster: { name } }) => {
        reconciled.set(name, (reconciled.get(name) ?? 0) + 1);
        return { requeueAfterMs: 500 };
      },
    });
    replica.run().catch(() => undefined);
    return { fleet: replica };
  });
  const wellMs = 1_100;
  slow.path.answerMs = wellMs;
  await shared(t, names.length, ...replicas);
  slow.path.answerMs = 4_000;
  await pause(6_000);
  slow.path.answerMs = wellMs;
  await shared(t, names.length, ...replicas);
  reconciled.clear();
  await until(t, () => names.every((name) => (reconciled.get(name) ?? 0) >= 3));
  assert.equal(new Set(replicas.flatMap((replica) => engagedIn(replica.fleet))).size, names.length);
});
