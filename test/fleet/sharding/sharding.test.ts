import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { engagedIn, shared, startReplicas } from '../../fixtures/replicas.ts';
import { problemsIn } from '../../fixtures/thrown.ts';
import { until } from '../../fixtures/until.ts';

const clusters = 16;

describe('replicas that share a fleet', () => {
  test('work on all clusters, and no two on the same', async (t) => {
    const { start } = await startReplicas(t, clusters);
    const [one, two] = [start('one'), start('two')];
    one.run();
    two.run();
    await shared(t, clusters, one, two);
    assert.ok(engagedIn(one.fleet).length > 0 && engagedIn(two.fleet).length > 0, 'both have some');
    const [name = ''] = engagedIn(two.fleet);
    const { state, reason, owner, message } = one.fleet.list().find((entry) => entry.name === name) ?? {};
    assert.deepEqual({ state, reason, owner }, { state: 'NotOwned', reason: 'OWNED_BY_OTHER', owner: 'two' });
    assert.match(String(message), /^two owns its shard \d+$/);
    const refused = { name: 'FleetError', code: 'CLUSTER_NOT_OWNED', owner: 'two' };
    assert.throws(() => one.fleet.get(name), { ...refused, message: /cannot be used \(owner: two\)/ });
  });

  test('have all shards at once in a new fleet, and soon one whose Lease the hub refused to create at first', async (t) => {
    const { hub, start, leases } = await startReplicas(t, clusters);
    const one = start('one');
    let creations = 0;
    // The first one is of its own Lease.
    hub.failNext(503, 1, ({ method }) => method === 'POST' && creations++ === 1);
    one.run();
    await until(t, () => leases('shard').length === 63);
    const began = one.clock.uptime();
    await one.passUntil(() => leases('shard').length === 64);
    assert.ok(one.clock.uptime() - began < 10_000);
  });

  test('hand a cluster over when work on it has ended, not before', async (t) => {
    const { spoke, start } = await startReplicas(t, clusters);
    spoke.add({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'work' } });
    const [one, two] = [start('one'), start('two')];
    const ending = Promise.withResolvers<void>();
    const working = new Set<string>();
    const aborted = new Set<string>();
    one.fleet.controller({
      name: 'work',
      for: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' },
      reconcile: async (_request, { cluster, signal }) => {
        working.add(cluster.name);
        // It aborts after each reconcile; here only what is under way counts.
        signal.addEventListener('abort', () => working.has(cluster.name) && aborted.add(cluster.name), { once: true });
        await ending.promise;
        // What was begun may still end in order.
        await cluster.config.makeApiClient(CoreV1Api).listNamespace();
        working.delete(cluster.name);
      },
    });
    const overlap: string[] = [];
    two.fleet.onEngage(({ name }) => {
      if (working.has(name)) overlap.push(name);
    });
    one.run();
    await until(t, () => working.size === clusters);
    two.run();
    await until(t, () => aborted.size > 0);
    assert.deepEqual(engagedIn(two.fleet), []);
    ending.resolve();
    await shared(t, clusters, one, two);
    assert.deepEqual(overlap, []);
    assert.deepEqual([...aborted].toSorted(), engagedIn(two.fleet));
  });

  test('leave all shards to the others where the weight is 0', async (t) => {
    const { start } = await startReplicas(t, clusters);
    const [one, two] = [start('one', { weight: 0 }), start('two')];
    one.run();
    two.run();
    await shared(t, clusters, one, two);
    assert.deepEqual(engagedIn(one.fleet), []);
  });

  test('have options that are looked at when the fleet is made', async (t) => {
    const { start } = await startReplicas(t, 0);
    start('one');
    const wrong = { name: 'Shared', weight: -1 as 0, leaseDurationMs: 4_500 };
    const problems = problemsIn(() => start('one', wrong));
    assert.deepEqual(problems, [
      'sharding.name must be lower case letters, digits and -, 63 at most: it is a part of the names of Leases',
      'sharding.weight must be 0 or 1',
      'sharding.leaseDurationMs must be whole seconds in milliseconds, from 3_000 to 600_000: 30_000 for 30 s',
    ]);
  });
});
