import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { V1ConfigMap } from '@kubernetes/client-node';
import type { Wire } from '../../src/fleet/index.ts';
import { startEngaged } from '../fixtures/controllers.ts';
import { until } from '../fixtures/until.ts';

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
