import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { V1ConfigMap } from '@kubernetes/client-node';
import type { Wire } from '../../src/fleet/index.ts';
import { startEngaged } from '../fixtures/fleet-hub.ts';
import { until } from '../fixtures/until.ts';

test('an informer reads what it was asked for, whatever becomes of the options afterwards', async (t) => {
  const { cluster: server, engaged: cluster } = await startEngaged(t);
  const add = (namespace: string, name: string) =>
    server.add({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name } });
  add('a', 'in-a');
  add('b', 'in-b');
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

test('a resource of a cluster writes what an informer reads, and asks for no kinds that a cache knows', async (t) => {
  const { cluster: server, engaged: cluster, fleet } = await startEngaged(t);
  const kind = { apiVersion: 'v1', kind: 'ConfigMap' };
  const cache = cluster.informer<Wire<V1ConfigMap>>(kind);
  await cache.synced();
  const seen: string[] = [];
  server.onRequest = ({ method, url }) => seen.push(`${method} ${url}`);
  const maps = cluster.resource<Wire<V1ConfigMap>>({ ...kind, namespace: 'default', fieldManager: 'test' });
  await maps.apply({ metadata: { name: 'a' }, data: { colour: 'red' } });
  assert.deepEqual(seen, ['PATCH /api/v1/namespaces/default/configmaps/a?fieldManager=test']);
  await until(t, () => cache.get('a', 'default')?.data?.colour === 'red');
  await fleet.close();
  await assert.rejects(maps.get('a'), { code: 'CONFIG_CLOSED' });
});
