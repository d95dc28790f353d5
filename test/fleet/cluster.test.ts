import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHub } from '../fixtures/fleet-hub.ts';
import { until } from '../fixtures/until.ts';

test('an informer reads what it was asked for, whatever becomes of the options afterwards', async (t) => {
  const { publish, spoke, run } = await startHub(t);
  const server = await spoke();
  const add = (namespace: string, name: string) =>
    server.add({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name } });
  add('a', 'in-a');
  add('b', 'in-b');
  publish('one', server);
  const fleet = run();
  await fleet.synced();
  const cluster = fleet.get('fleet/one');
  const options = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'a', indexers: { x: () => ['x'] } };
  const inA = cluster.informer(options);
  await inA.synced();
  options.namespace = 'b';
  Object.assign(options.indexers, { y: () => ['y'] });
  const inB = cluster.informer(options);
  await inB.synced();
  server.endWatches();
  server.compact();
  server.closeConnections();
  add('a', 'later');
  add('b', 'later');
  const names = (informer: typeof inA) =>
    informer.list().map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
  await until(t, () => names(inA).length > 1 && names(inB).length > 1);
  assert.deepEqual(names(inA), ['a/in-a', 'a/later']);
  assert.deepEqual(names(inB), ['b/in-b', 'b/later']);
  assert.notEqual(inA, inB);
  assert.deepEqual(Object.keys(inA.options.indexers ?? {}), ['x']);
});
