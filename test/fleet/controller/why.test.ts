import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReconcileTrigger } from '../../../src/fleet/index.ts';
import { published } from '../../fixtures/channel.ts';
import { configMaps, map, startOne } from '../../fixtures/controllers.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { until } from '../../fixtures/until.ts';

const secrets = { apiVersion: 'v1', kind: 'Secret', namespace: 'default' };

test('a reconcile is told why it runs: which objects have changed, or that it is repeated, or asked for', async (t) => {
  const { hub, cluster, run } = await startOne(t, ['a']);
  const clock = new ManualClock();
  const fleet = run({ clock });
  const why: (readonly ReconcileTrigger[])[] = [];
  const answers: (() => object)[] = [];
  const { enqueue } = fleet.controller({
    name: 'x',
    for: configMaps,
    owns: [secrets],
    watches: [{ ...secrets, on: 'hub', map: () => [{ name: 'a', namespace: 'default' }] }],
    reconcile: (_request, { triggers }) => {
      why.push(triggers);
      return answers.shift()?.() ?? {};
    },
  });
  const next = async (act: () => unknown) => {
    const { length } = why;
    act();
    await until(t, () => why.length > length);
    assert.equal(why.length, length + 1);
    return why[length];
  };
  const ofA = { cluster: 'fleet/one', apiVersion: 'v1', kind: 'ConfigMap', object: 'default/a', source: 'for' };
  answers.push(() => ({ requeueAfterMs: 7 }));
  const first = await next(() => {});
  assert.equal(first?.length, 1);
  assert.deepEqual({ ...first[0], event: 'Added' }, { reason: 'start', ...ofA, event: 'Added' });
  await clock.waiting((ms) => ms === 7);
  answers.push(() => assert.fail('not today'));
  assert.deepEqual(await next(() => clock.advance(7)), [{ reason: 'requeue' }]);
  await clock.waiting((ms) => ms === 5);
  assert.deepEqual(await next(() => clock.advance(5)), [{ reason: 'retry' }]);
  assert.deepEqual(await next(() => enqueue({ name: 'a', namespace: 'default' })), [{ reason: 'enqueue' }]);
  const changed = await next(() => cluster.set({ ...map('a'), data: { x: 'y' } }));
  assert.deepEqual(changed, [{ reason: 'event', ...ofA, event: 'Modified' }]);
  const { uid } = cluster.get({ ...configMaps, metadata: { name: 'a', namespace: 'default' } })?.metadata ?? {};
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: String(uid), controller: true }];
  const ofChild = { reason: 'event', cluster: 'fleet/one', apiVersion: 'v1', kind: 'Secret', object: 'default/child' };
  const child = { ...secrets, metadata: { name: 'child', namespace: 'default', ownerReferences } };
  assert.deepEqual(await next(() => cluster.add(child)), [{ ...ofChild, source: 'owns', event: 'Added' }]);
  assert.deepEqual(await next(() => cluster.delete(child)), [{ ...ofChild, source: 'owns', event: 'Deleted' }]);
  const { cluster: _, ...onHub } = { ...ofChild, source: 'watches', event: 'Added' };
  assert.deepEqual(await next(() => hub.add({ ...secrets, metadata: { name: 'child', namespace: 'default' } })), [
    onHub,
  ]);
});

test('events, requests and lines of the log have the ID of their reconcile, and nothing else has one', async (t) => {
  const { run, warnings } = await startOne(t, ['a', 'b']);
  const [reconciles, requests] = [published(t, 'fleet-reconcile'), published(t, 'request-start')];
  const ids = new Map<string, string>();
  const lines: Record<string, unknown>[] = [];
  const logger = { warn: (fields: object, message: string) => lines.push({ ...fields, message }) };
  const fleet = run({ logger, clock: new ManualClock() });
  let left: AbortSignal | undefined;
  fleet.controller({
    name: 'x',
    for: configMaps,
    reconcile: async ({ name }, { cluster: here, reconcileId, signal }) => {
      ids.set(name, reconcileId);
      await here.config.fetch(`/version?${name}`);
      await here.resource(configMaps).list({ labelSelector: name });
      if (name === 'b') throw new Error('not today');
      assert.equal(signal.aborted, false);
      left = signal;
    },
  });
  await until(t, () => reconciles.length === 2);
  const told = reconciles.map(({ name, reconcileId }) => `${name} ${reconcileId}`);
  assert.deepEqual(new Set(told), new Set([...ids].map((pair) => pair.join(' '))));
  assert.notEqual(ids.get('a'), ids.get('b'));
  for (const id of ids.values()) {
    const paths = requests.filter(({ reconcileId }) => reconcileId === id).map(({ path }) => path);
    assert.deepEqual(paths, ['/version', '/api/v1/namespaces/default/configmaps']);
  }
  const others = requests.filter(({ reconcileId }) => reconcileId === undefined);
  assert.ok(others.length > 2 && others.length + 4 === requests.length);
  const [failed, ...more] = lines.filter(({ message }) => /not today/.test(String(message)));
  assert.deepEqual([failed?.reconcileId, failed?.controller, failed?.object], [ids.get('b'), 'x', 'default/b']);
  assert.deepEqual(more, []);
  assert.deepEqual(warnings, []);
  assert.equal(left?.aborted, true, 'what it has left running stops');
  assert.match(String(left?.reason), /the reconcile has ended/);
});
