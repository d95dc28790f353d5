// What a controller makes for an object: owner references, the children in a cache, and a finalizer until they are cleaned up.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterKey, finalized, setControllerReference } from '../../src/fleet/index.ts';
import { configMaps, map, startOne } from '../fixtures/controllers.ts';
import { until } from '../fixtures/until.ts';

const secrets = { apiVersion: 'v1', kind: 'Secret', namespace: 'default' } as const;
const secret = (name: string) => ({ ...secrets, metadata: { name, namespace: 'default' } });

test('children are found by their controller, and a finalizer keeps their owner until they are cleaned up', async (t) => {
  const { cluster, run } = await startOne(t, ['a', 'b']);
  cluster.add({ ...secret('foreign'), metadata: { name: 'foreign', namespace: 'default' } });
  const fleet = run();
  const cleaned: string[] = [];
  const children = (name: string) => {
    const owner = cluster.get(map(name)) ?? assert.fail('it is gone');
    const found = fleet.get('fleet/one').informer(secrets).childrenOf(owner);
    return found.map(({ metadata }) => metadata.name).toSorted();
  };
  let fails = true;
  fleet.controller({
    name: 'secrets',
    for: configMaps,
    owns: [secrets],
    backoff: { firstMs: 1 },
    async reconcile({ name }, context) {
      const { cluster: spoke, object, signal } = context;
      const lives = await finalized(context, 'example.dev/secrets', () => {
        cleaned.push(name);
        if (fails) throw new Error('not yet');
      });
      if (!lives || !object) return;
      for (const number of [1, 2]) {
        const child = setControllerReference(object, { metadata: { name: `${name}-${number}`, namespace: 'default' } });
        await spoke.resource({ ...secrets, fieldManager: 'secrets' }).apply(child, { signal });
      }
    },
  });
  await until(t, () => cluster.get(secret('b-2')) !== undefined && children('b').length === 2);
  for (const name of ['a', 'b']) assert.deepEqual(children(name), [`${name}-1`, `${name}-2`]);
  const [reference] = Object(cluster.get(secret('a-1'))?.metadata).ownerReferences;
  const { uid } = cluster.get(map('a'))?.metadata ?? {};
  const controls = { controller: true, blockOwnerDeletion: true };
  assert.deepEqual(reference, { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid, ...controls });
  // A child that goes is made again, and the index follows.
  cluster.delete(secret('a-1'));
  await until(t, () => cluster.get(secret('a-1')) !== undefined && children('a').length === 2);

  await fleet.get('fleet/one').resource(configMaps).delete('a');
  await until(t, () => cleaned.length >= 2);
  assert.ok(cluster.get(map('a'))?.metadata.deletionTimestamp);
  fails = false;
  await until(t, () => cluster.get(map('a')) === undefined);
  assert.deepEqual(cluster.get(map('b'))?.metadata.finalizers, ['example.dev/secrets']);
  assert.deepEqual([...new Set(cleaned)], ['a']);
});

test('an object that cannot have an owner is refused, with the reason', () => {
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'shop', uid: '1' } };
  const object = (more: object = {}) => ({ metadata: { name: 'x', namespace: 'shop', ...more } });
  const other = { apiVersion: 'v1', kind: 'Job', name: 'j', uid: '2', controller: true };
  for (const [given, by, message] of [
    [object({ namespace: 'bank' }), owner, /object: is in namespace bank, and its owner in shop/],
    [object({ ownerReferences: [other] }), owner, /object: has another controller, Job j/],
    [object(), { ...owner, metadata: { name: 'a' } }, /owner: has no uid/],
  ] as const) {
    assert.throws(() => setControllerReference(by, given), { code: 'OPTION_INVALID', message });
  }
  const plain = { ...other, controller: false };
  const twice = setControllerReference(owner, setControllerReference(owner, object({ ownerReferences: [plain] })));
  const [first, second, ...more] = Object(twice.metadata).ownerReferences;
  assert.deepEqual([first.uid, second.uid, more], ['2', '1', []]);
});

test('the key of a cluster is its name if that fits, and else its beginning with a hash', () => {
  assert.equal(clusterKey('fleet-system/spoke-1'), 'fleet-system.spoke-1');
  const long = `fleet-cluster-inventory/payments-production-europe-west4-autopilot`;
  const keys = ['-1', '-2', `-${'3'.repeat(180)}`].map((end) => clusterKey(long + end));
  assert.equal(new Set(keys).size, 3);
  for (const key of keys) assert.match(key, /^fleet-cluster-inventory\.payments-production-[\w-]*[\da-f]{16}$/);
  assert.ok(keys.every((key) => key.length <= 63));
});
