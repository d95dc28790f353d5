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
import { engagedIn, shared, startReplicas } from '../../fixtures/replicas.ts';
import { until } from '../../fixtures/until.ts';

const clusters = 16;

describe('replicas that share a fleet beside others that are dead, or not like them', () => {
  test('replace one that is dead after the duration of its Leases', async (t) => {
    const { hub, start } = await startReplicas(t, clusters);
    const renewTime = '2026-01-01T00:00:00.000000Z';
    const lease = (name: string, role: 'shard' | 'replica', annotations: Readonly<Record<string, string>> = {}) => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        namespace: 'default',
        name,
        labels: labelsOf('shared', role),
        annotations,
      },
      spec: {
        holderIdentity: sessionName('dead', '0', 1),
        leaseDurationSeconds: 30,
        renewTime,
        acquireTime: renewTime,
        leaseTransitions: 0,
      },
    });
    const dead = lease(
      replicaLeaseName('shared', 'dead'),
      'replica',
      replicaAnnotations({ identity: 'dead', shards: 8, weight: 1 }),
    );
    hub.add([dead, ...Array.from({ length: 8 }, (_, shard) => lease(shardLeaseName('shared', shard), 'shard'))]);
    const one = start('one');
    one.run();
    await until(t, () => one.fleet.list().filter(({ owner }) => owner === 'dead').length === clusters);
    const started = one.clock.uptime();
    await one.passUntil(() => engagedIn(one.fleet).length > 0);
    assert.ok(one.clock.uptime() - started >= 30_000);
    await shared(t, clusters, one);
    await one.passUntil(() => hub.get(dead) === undefined);
  });

  test('refuse to start beside one that has another number of shards', async (t) => {
    const { hub, start } = await startReplicas(t, 2);
    const [one, two] = [start('one'), start('two', { shards: 16 })];
    one.run();
    await shared(t, 2, one);
    const running = two.run();
    const peers = () =>
      hub
        .list({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' })
        .filter(({ metadata }) => metadata.name.includes('-replica-'));
    await until(t, () => peers().length === 2);
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
    assert.equal(peers().length, 1);
    await shared(t, 2, one);
  });

  test('wait for a dead one that has another number of shards, without asking the hub all the time', async (t) => {
    const { hub, start } = await startReplicas(t, 2);
    const one = start('one');
    one.run();
    const isPeer = ({ metadata: { name } }: { readonly metadata: { readonly name: string } }) =>
      name.includes('-replica-');
    const peers = () => hub.list({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }).filter(isPeer);
    await shared(t, 2, one);
    const [dead] = peers();
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

  test('wait for the duration of a Lease that they cannot see renewed, and never for less than their own', async (t) => {
    const session = sessionName('other', '0', 1);
    for (const [leaseDurationSeconds, least] of [
      // The replica has no Lease.
      [undefined, 30_000],
      [1, 30_000],
      [45, 45_000],
    ] as const) {
      const { hub, start } = await startReplicas(t, 1);
      const lease = (name: string, role: 'shard' | 'replica') => ({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: {
          namespace: 'default',
          name,
          labels: labelsOf('shared', role),
          annotations: replicaAnnotations({ identity: 'other', shards: 1, weight: 1 }),
        },
        spec: { holderIdentity: session, leaseDurationSeconds: leaseDurationSeconds ?? 30 },
      });
      const shard = lease(shardLeaseName('shared', 0), 'shard');
      hub.add(shard);
      if (leaseDurationSeconds) hub.add(lease(replicaLeaseName('shared', 'other'), 'replica'));
      const one = start('one', { shards: 1 });
      one.run();
      await until(
        t,
        () =>
          hub.list({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }).length > 2 - Number(!leaseDurationSeconds),
      );
      const began = one.clock.uptime();
      const holder = () => String(Object(hub.get(shard)?.spec).holderIdentity);
      await one.passUntil(() => holder().startsWith('one_'));
      const waited = one.clock.uptime() - began;
      assert.ok(waited >= least && waited < least + 10_000, `${leaseDurationSeconds} s: ${waited} ms`);
    }
  });
});

describe('replicas whose Leases are deleted by hand', () => {
  const leases = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };

  test('let go of a shard whose Lease is deleted, and take it again when all of them know that', async (t) => {
    const { hub, start } = await startReplicas(t, 1);
    const [one, two] = [start('one', { shards: 1 }), start('two', { shards: 1 })];
    one.run();
    two.run();
    await shared(t, 1, one, two);
    const [owner, other] = engagedIn(one.fleet).length > 0 ? [one, two] : [two, one];
    const { signal } = owner.fleet.get('fleet/c0');
    const [shard] = hub.list(leases).filter(({ metadata: { name } }) => name === 'shared-shard-0');
    hub.delete(shard ?? assert.fail('it has none'));
    await until(t, () => signal.aborted);
    const began = owner.clock.uptime();
    await owner.passUntil(() => engagedIn(owner.fleet).length === 1, other);
    const waited = owner.clock.uptime() - began;
    assert.ok(waited >= 29_000 && waited < 45_000, `${waited} ms`);
  });

  test('begin a new session where their own Lease is deleted, and have their shards again at once', async (t) => {
    const { hub, start } = await startReplicas(t, clusters);
    const one = start('one');
    one.run();
    await shared(t, clusters, one);
    const own = () => hub.list(leases).find(({ metadata: { name } }) => name.startsWith('shared-replica-'));
    hub.delete(own() ?? assert.fail('it has none'));
    await until(t, () => String(Object(own()?.spec).holderIdentity).endsWith('-2'));
    await shared(t, clusters, one);
    const holders = new Set(hub.list(leases).map(({ spec }) => String(Object(spec).holderIdentity)));
    assert.equal(holders.size, 1);
  });
});
