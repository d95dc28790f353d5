import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FleetError } from '../../../src/fleet/index.ts';
import {
  labelsOf,
  replicaAnnotations,
  replicaLeaseName,
  sessionName,
  shardLeaseName,
} from '../../../src/fleet/sharding/names.ts';
import { ApiServer } from '../../../src/rest/api/api-server.ts';
import { restConfigFor } from '../../fixtures/fleet-hub.ts';
import { engagedIn, holderIn, shared, startReplicas } from '../../fixtures/replicas.ts';
import { until } from '../../fixtures/until.ts';

const clusters = 16;

describe('replicas that share a fleet beside others that are dead, or not like them', () => {
  test('refuse to start beside one that has another number of shards', async (t) => {
    const { start, leases } = await startReplicas(t, 2);
    const [one, two] = [start('one'), start('two', { shards: 16 })];
    one.run();
    await shared(t, 2, one);
    const engaged = engagedIn(one.fleet).map((name) => one.fleet.get(name));
    const running = two.run();
    await until(t, () => leases('replica').length === 2);
    // It has seen the Lease of the other one; now it sees that this one lives.
    let ended = false;
    running.catch(() => (ended = true));
    await one.passUntil(() => ended);
    await assert.rejects(running, (error) => {
      assert.ok(error instanceof FleetError);
      assert.equal(error.code, 'SHARDS_DIFFER');
      assert.match(
        error.message,
        /^two is configured with 16 shards, and one with 8: .* Give all replicas the same sharding\.shards/,
      );
      return true;
    });
    assert.equal(leases('replica').length, 1);
    // It was given no shards.
    assert.ok(engaged.length === 2 && engaged.every(({ signal }) => !signal.aborted));
  });

  test('wait for a dead one that has another number of shards, without asking the hub all the time', async (t) => {
    const { hub, start, leases } = await startReplicas(t, 2);
    const one = start('one');
    one.run();
    await shared(t, 2, one);
    const [dead] = leases('replica');
    await one.leave();
    assert.ok(dead);
    const { namespace = '', name, labels = {}, annotations = {} } = dead.metadata;
    // It expires between two renewals of the one that waits.
    const spec = { ...Object(dead.spec), leaseDurationSeconds: 35 };
    hub.set({ ...dead, spec, metadata: { namespace, name, labels, annotations } });
    let lists = 0;
    hub.onRequest = ({ method, url }) => {
      if (method === 'GET' && /\/leases\?labelSelector=[^&]*$/.test(url)) lists += 1;
    };
    const two = start('two', { shards: 16 });
    const began = two.clock.uptime();
    two.run();
    await until(t, () => lists > 0);
    lists = 0;
    // As many answers as these could have come for lists.
    const other = new ApiServer(restConfigFor(hub, 'hub'));
    for (let asked = 0; asked < 50; asked++) await (await other.get('/version', { signal: t.signal })).body.dump();
    assert.ok(lists <= 2, `${lists} lists`);
    await two.passUntil(() => two.clock.uptime() - began >= 35_000);
    assert.deepEqual(engagedIn(two.fleet), []);
    // Its next renewal is at 36 s at the earliest.
    await until(t, () => engagedIn(two.fleet).length === 2);
  });

  test('say so where two have the same identity, and only one of them works', async (t) => {
    const { start, warnings } = await startReplicas(t, clusters);
    const [one, two] = [start('one'), start('one')];
    one.run();
    await shared(t, clusters, one);
    two.run();
    await until(t, () =>
      warnings.some((line) => /another process \(one_[0-9a-f]{8}-1\) has the identity one/.test(line)),
    );
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
          annotations: replicaAnnotations({ identity: 'dead', shards: 1, weight: 1 }),
        },
        spec: { holderIdentity: session, leaseDurationSeconds: leaseDurationSeconds ?? 30 },
      });
      hub.add(lease(shardLeaseName('shared', 0), 'shard'));
      if (leaseDurationSeconds) hub.add(lease(replicaLeaseName('shared', 'dead'), 'replica'));
      const one = start('one', { shards: 1 });
      one.run();
      await until(t, () => one.fleet.list()[0]?.owner === 'dead');
      const began = one.clock.uptime();
      await one.passUntil(() => holderIn(leases('shard')[0]).startsWith('one_'));
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
    const [one, two] = [start('one', { shards: 1 }), start('two', { shards: 1 })];
    one.run();
    two.run();
    await shared(t, 1, one, two);
    const [owner, other] = engagedIn(one.fleet).length > 0 ? [one, two] : [two, one];
    const { signal } = owner.fleet.get('fleet/c0');
    hub.delete(leases('shard')[0] ?? assert.fail('it has none'));
    await until(t, () => signal.aborted);
    const began = owner.clock.uptime();
    await owner.passUntil(() => engagedIn(owner.fleet).length === 1, other);
    const waited = owner.clock.uptime() - began;
    assert.ok(waited >= 29_000 && waited < 45_000, `${waited} ms`);
  });

  test('begin a new session where their own Lease is deleted, and have their shards again at once', async (t) => {
    const { hub, start, leases } = await startReplicas(t, clusters);
    const one = start('one');
    one.run();
    await shared(t, clusters, one);
    hub.delete(leases('replica')[0] ?? assert.fail('it has none'));
    await until(t, () => holderIn(leases('replica')[0]).endsWith('-2'));
    await shared(t, clusters, one);
    const holders = new Set([...leases('replica'), ...leases('shard')].map(holderIn));
    assert.equal(holders.size, 1);
  });
});
