import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { V1Pod } from '@kubernetes/client-node';
import type { Cluster, Fleet } from '../../src/fleet/index.ts';
import { startHub } from '../fixtures/fleet-hub.ts';

/** Never called: it has to compile, and what must not compile says so. */
export function usage(fleet: Fleet, cluster: Cluster): void {
  const pod = cluster.informer({ apiVersion: 'v1', kind: 'Pod' }).get('a', 'b');
  const time: string | undefined = pod?.metadata.creationTimestamp;
  const started: string | undefined = pod?.status?.startTime;
  // @ts-expect-error times are texts, as the wire has them
  pod?.status?.startTime?.getTime();
  // @ts-expect-error objects of a cache are shared
  if (pod) pod.metadata.name = 'x';
  const restarts: number | undefined = pod?.status?.containerStatuses?.[0]?.restartCount;
  fleet.controller({
    name: 'x',
    for: { apiVersion: 'v1', kind: 'ConfigMap', transform: ({ data: _, ...rest }) => rest },
    watches: [{ apiVersion: 'v1', kind: 'Pod', map: ({ spec }) => [{ name: spec?.nodeName ?? '' }] }],
    reconcile: async ({ name }, { object, signal }) => {
      signal.throwIfAborted();
      if (object?.data?.[name]) return { requeueAfterMs: 1 };
    },
  });
  const pods = cluster.resource({ apiVersion: 'v1', kind: 'Pod' });
  const model: V1Pod = { metadata: { creationTimestamp: new Date() }, spec: { containers: [] } };
  void pods.apply(model);
  if (pod) void pods.applyStatus({ ...pod, status: { ...pod.status, startTime: new Date() } });
  void pods.patch('a', { spec: { nodeName: null, tolerations: [{ key: 'a' }] } });
  // @ts-expect-error a list of operations is another type of patch
  void pods.patch('a', [{ op: 'remove', path: '/spec' }]);
  // @ts-expect-error a Pod has no such field
  void pods.apply({ data: {} });
  void cluster.resource({ apiVersion: 'v1', kind: 'ConfigMap' }).apply({ data: {} });
  const names = cluster.informer({ apiVersion: 'v1', kind: 'Pod', metadataOnly: true });
  // @ts-expect-error only its metadata was asked for
  void names.get('a', 'b')?.spec;
  fleet.controller({
    name: 'hub',
    for: { on: 'hub', apiVersion: 'v1', kind: 'ConfigMap' },
    watches: [
      { apiVersion: 'v1', kind: 'Secret', map: () => [] },
      { on: 'clusters', apiVersion: 'v1', kind: 'Pod', map: (_pod, { cluster: { name } }) => [{ name }] },
      { on: 'fleet', map: ({ type, cluster }) => (type === 'Gone' ? [{ name: cluster }] : []) },
    ],
    reconcile: async ({ name }, { object, hub, hubInformer }) => {
      hubInformer({ apiVersion: 'v1', kind: 'Pod' }).get(name)?.spec?.nodeName?.trim();
      assert.ok(object?.data?.[name] ?? hub.getCurrentCluster());
    },
  });
  const watchesHub = { on: 'hub', apiVersion: 'v1', kind: 'ConfigMap' } as const;
  const handle = fleet.controller({
    name: 'from hub',
    for: { apiVersion: 'v1', kind: 'ConfigMap' },
    watches: [{ ...watchesHub, map: ({ metadata }, { cluster }) => [{ name: `${cluster.name}${metadata.name}` }] }],
    reconcile: (_request, { cluster }) => void cluster.name,
  });
  handle.enqueue({ cluster: 'fleet/one', name: 'x' });
  fleet.controller({
    name: 'y',
    for: { on: 'hub', apiVersion: 'v1', kind: 'ConfigMap' },
    // @ts-expect-error an object of the hub has no cluster
    reconcile: (_request, { cluster }) => void cluster,
  });
  // @ts-expect-error a name is needed
  fleet.controller({ for: { apiVersion: 'v1', kind: 'ConfigMap' }, reconcile: () => {} });
  assert.ok([time, started, restarts]);
}

test('every option of a fleet, a controller and a source takes undefined', async (t) => {
  const { run } = await startHub(t);
  const none = undefined;
  const fleet = run({
    ...{ namespaces: none, labelSelector: none, placement: none, select: none, identify: none, isReady: none },
    ...{ unhealthyGraceMs: none, engageTimeoutMs: none, sharding: none, logger: none, metrics: none, clock: none },
  });
  const source = {
    ...{ apiVersion: 'v1', kind: 'Pod', namespace: none, namespaces: none, labelSelector: none, fieldSelector: none },
    ...{ metadataOnly: none, maxObjects: none, maxBytes: none, transform: none, indexers: none, when: none },
  } as const;
  fleet.controller({
    ...{ name: 'all', for: source, owns: none, watches: none, concurrency: none, perClusterConcurrency: none },
    ...{ reconcileTimeoutMs: none, backoff: { firstMs: none, longestMs: none }, reconcile: () => {} },
  });
  fleet.controller({ name: 'hub', for: { ...source, on: 'hub' }, owns: [source], reconcile: () => {} });
  assert.deepEqual(fleet.clusters(), []);
});
