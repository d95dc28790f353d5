import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  labelsOf,
  replicaAnnotations,
  replicaLeaseName,
  sessionName,
  shardLeaseName,
} from '../../../src/fleet/sharding/names.ts';
import { engagedIn, holderIn, shardOfCluster, shared, startReplicas } from '../../fixtures/replicas.ts';
import { until } from '../../fixtures/until.ts';

const clusters = 16;
/** The Lease of the first cluster's shard. */
const shardName = shardLeaseName('shared', shardOfCluster('fleet/c0'));

describe('replicas that share a fleet beside others that are dead, or have their name', () => {
  test('say so where two have the same identity, and only one of them works', async (t) => {
    const { start, startAlone, warnings } = await startReplicas(t, clusters);
    await startAlone();
    const two = start('one');
    two.run();
    const said = /another process \(one_[0-9a-f]{8}-1\) has the identity one/;
    await until(t, () => warnings.some((line) => said.test(line)));
    assert.deepEqual(engagedIn(two.fleet), []);
    await until(t, () => two.fleet.list().every(({ owner }) => owner === 'one'));
  });

  test('replace one that is dead after the duration of its Lease, and never after less than their own', async (t) => {
    const session = sessionName('dead', '0', 1);
    for (const [leaseDurationSeconds, least] of [
      // The replica has no Lease.
      [undefined, 30_000],
      [1, 30_000],
      [45, 45_000],
    ] as const) {
      const { hub, start, leases } = await startReplicas(t, 1);
      const lease = (name: string, role: 'shard' | 'replica') => ({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: {
          namespace: 'default',
          name,
          labels: labelsOf('shared', role),
          annotations: replicaAnnotations({ identity: 'dead', weight: 1 }),
        },
        spec: { holderIdentity: session, leaseDurationSeconds: leaseDurationSeconds ?? 30 },
      });
      hub.add(lease(shardName, 'shard'));
      if (leaseDurationSeconds) hub.add(lease(replicaLeaseName('shared', 'dead'), 'replica'));
      const one = start('one');
      one.run();
      await until(t, () => one.fleet.list()[0]?.owner === 'dead');
      const shardLease = () => leases('shard').find(({ metadata }) => metadata.name === shardName);
      const began = one.clock.uptime();
      await one.passUntil(() => holderIn(shardLease()).startsWith('one_'));
      const waited = one.clock.uptime() - began;
      assert.ok(waited >= least && waited < least + 10_000, `${leaseDurationSeconds} s: ${waited} ms`);
      await shared(t, 1, one);
      await one.passUntil(() => leases('replica').length === 1);
    }
  });
});

describe('replicas whose Leases are deleted by hand', () => {
  test('let go of a shard whose Lease is deleted, and take it again when all of them know that', async (t) => {
    const { hub, start, leases } = await startReplicas(t, 1);
    const [one, two] = [start('one'), start('two')];
    one.run();
    two.run();
    await shared(t, 1, one, two);
    const [owner, other] = engagedIn(one.fleet).length > 0 ? [one, two] : [two, one];
    const { signal } = owner.fleet.get('fleet/c0');
    hub.delete(leases('shard').find(({ metadata }) => metadata.name === shardName) ?? assert.fail('it has none'));
    await until(t, () => signal.aborted);
    const began = owner.clock.uptime();
    await owner.passUntil(() => engagedIn(owner.fleet).length === 1, other);
    const waited = owner.clock.uptime() - began;
    assert.ok(waited >= 29_000 && waited < 45_000, `${waited} ms`);
  });

  test('begin a new session where their own Lease is deleted, and have their shards again at once', async (t) => {
    const { hub, startAlone, leases } = await startReplicas(t, clusters);
    const one = await startAlone();
    hub.delete(leases('replica')[0] ?? assert.fail('it has none'));
    await until(t, () => holderIn(leases('replica')[0]).endsWith('-2'));
    await shared(t, clusters, one);
    const holders = new Set([...leases('replica'), ...leases('shard')].map(holderIn));
    assert.equal(holders.size, 1);
  });
});
