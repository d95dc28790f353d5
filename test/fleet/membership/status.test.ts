import assert from 'node:assert/strict';
import { test } from 'node:test';
import { published } from '../../fixtures/channel.ts';
import { startHub } from '../../fixtures/fleet-hub.ts';
import { until } from '../../fixtures/until.ts';

const odd = `x\nfake line\u001b[2J\u202e${'A'.repeat(200_000)}`;

test('the message of a cluster, in the list and in an event, is one line of 4 KiB at most, whatever its profile, its functions and its server say', async (t) => {
  const { hub, publish, profile, spoke, run } = await startHub(t);
  const cluster = await spoke();
  cluster.failNext(403, 1_000_000, ({ url }) => url.includes('/configmaps'));
  publish('sick', cluster);
  const sick = profile('sick');
  const conditions = [{ type: 'ControlPlaneHealthy', status: 'False', reason: odd, message: odd }];
  hub.set({ ...sick, status: { ...Object(sick).status, conditions } } as never);
  for (const name of ['first', 'second', 'failing', 'odd-kinds']) publish(name, cluster);
  const events = published(t, 'fleet-cluster');
  const fleet = run({
    identify: ({ metadata: { name } }) => (name === 'first' || name === 'second' ? odd : name),
  });
  fleet.onEngage(({ name, informer: _, ...rest }) => {
    if (name === 'fleet/failing') throw new Error(odd);
    return rest;
  });
  await fleet.synced();
  const kinds = fleet.get('fleet/odd-kinds');
  // Each informer has something to say.
  for (let i = 0; i < 40; i++) kinds.informer({ apiVersion: 'v1', kind: 'ConfigMap', namespace: `n-${i}` });
  const reasonsOf = () => new Set(fleet.list().map(({ reason }) => reason));
  const wanted = ['CONTROL_PLANE_UNHEALTHY', 'SAME_CLUSTER', 'HANDLERS/HANDLER_FAILED', 'WATCH_FAILING'];
  await until(t, () => {
    const failing = [...kinds.informers].filter(({ problem }) => problem).length;
    return failing === 40 && wanted.every((reason) => reasonsOf().has(reason));
  });
  for (const { message, reason } of [...fleet.list(), ...events]) {
    assert.ok(Buffer.byteLength(String(message)) <= 4_096, String(reason));
    assert.doesNotMatch(String(message), /[\p{Cc}\p{Cf}]/u, String(reason));
  }
  assert.ok(events.some(({ reason }) => reason === 'CONTROL_PLANE_UNHEALTHY'));
});
