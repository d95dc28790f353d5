import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiServer } from '../../../src/fleet/api-server.ts';
import { FleetError } from '../../../src/fleet/index.ts';
import { labelsOf } from '../../../src/fleet/sharding/names.ts';
import { kubeConfigFor } from '../../fixtures/fleet-hub.ts';
import { engagedIn, shared, startReplicas } from '../../fixtures/replicas.ts';
import { until } from '../../fixtures/until.ts';

const clusters = 16;

describe('replicas that share a fleet beside others that are dead, or not like them', () => {
  test('replace one that is dead after the duration of its Leases', async (t) => {
    const { hub, start } = await startReplicas(t, clusters);
    const renewTime = '2026-01-01T00:00:00.000000Z';
    const lease = (name: string, role: string, annotations: Record<string, string> = {}) => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        namespace: 'default',
        name: `shared-${name}`,
        labels: { 'clusterprofile-credentials/fleet': 'shared', 'clusterprofile-credentials/role': role },
        annotations,
      },
      spec: {
        holderIdentity: 'dead_0',
        leaseDurationSeconds: 30,
        renewTime,
        acquireTime: renewTime,
        leaseTransitions: 0,
      },
    });
    const facts = { identity: 'dead', shards: '8', weight: '1' };
    const named = Object.entries(facts).map(([key, value]) => [`clusterprofile-credentials/${key}`, value]);
    hub.add([
      lease('peer-dead', 'peer', Object.fromEntries(named)),
      ...Array.from({ length: 8 }, (_, shard) => lease(`shard-${shard}`, 'shard')),
    ]);
    const one = start('one');
    one.run();
    await until(t, () => one.fleet.list().filter(({ owner }) => owner === 'dead').length === clusters);
    const started = one.clock.uptime();
    await one.passUntil(() => engagedIn(one.fleet).length > 0);
    assert.ok(one.clock.uptime() - started >= 30_000);
    await shared(t, clusters, one);
    await until(t, () => hub.get(lease('peer-dead', 'peer')) === undefined);
  });

  test('refuse to start beside one that believes in another number of shards', async (t) => {
    const { hub, start } = await startReplicas(t, 2);
    const [one, two] = [start('one'), start('two', { shards: 16 })];
    one.run();
    await shared(t, 2, one);
    const running = two.run();
    const peers = () =>
      hub
        .list({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' })
        .filter(({ metadata }) => metadata.name.includes('-peer-'));
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
        /^two believes in 16 shards, and one in 8: .* Give all replicas the same sharding\.shards/,
      );
      return true;
    });
    assert.equal(peers().length, 1);
    await shared(t, 2, one);
  });

  test('pass over a Lease that looks like a replica and says nothing of shards', async (t) => {
    const { hub, start } = await startReplicas(t, 2);
    const one = start('one');
    const odd = (renewTime: string) =>
      hub.set({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: {
          namespace: 'default',
          name: 'shared-peer-0123456789abcdef',
          labels: labelsOf('shared', 'peer'),
        },
        spec: { holderIdentity: 'x', leaseDurationSeconds: 3_600, renewTime },
      });
    odd('2026-01-01T00:00:00.000000Z');
    one.run();
    odd('2026-01-01T00:00:01.000000Z');
    await shared(t, 2, one);
  });

  test('wait before they give a shard away again whose Lease others write each time, and say so', async (t) => {
    const { hub, start } = await startReplicas(t, 2);
    const warnings: string[] = [];
    const logger = { warn: (_fields: object, message: string) => warnings.push(message) };
    const one = start('one', {}, { logger });
    one.run();
    await shared(t, 2, one);
    hub.failNext(409, 1_000_000, ({ method, url }) => method === 'PUT' && url.includes('/shared-shard-'));
    start('two').run();
    await until(t, () => warnings.some((line) => /it was changed by others each time/.test(line)));
  });

  test('wait for a dead one that believes in another number of shards, without asking the hub all the time', async (t) => {
    const { hub, start } = await startReplicas(t, 2);
    const one = start('one');
    one.run();
    const isPeer = ({ metadata: { name } }: { readonly metadata: { readonly name: string } }) =>
      name.includes('-peer-');
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
    const other = new ApiServer(kubeConfigFor(hub, 'hub'));
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
      warnings.some((line) => /another process \(one_[0-9a-f]{8}\) has the identity one/.test(line)),
    );
    assert.deepEqual(engagedIn(two.fleet), []);
    await until(t, () => two.fleet.list().every(({ owner }) => owner === 'one'));
  });

  test('wait for a foreign holder as long as any replica may live, whatever its Lease says', async (t) => {
    for (const [leaseDurationSeconds, least] of [
      [1, 30_000],
      [86_400, 600_000],
    ] as const) {
      const { hub, start } = await startReplicas(t, 1);
      const metadata = { namespace: 'default', name: 'shared-shard-0', labels: labelsOf('shared', 'shard') };
      const spec = { holderIdentity: 'somebody', leaseDurationSeconds };
      hub.add({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });
      const one = start('one', { shards: 1 });
      one.run();
      await until(t, () => one.fleet.list().some(({ owner }) => owner === 'somebody'));
      const began = one.clock.uptime();
      one.clock.advance(least - 5_000);
      await one.passUntil(() => engagedIn(one.fleet).length > 0);
      const waited = one.clock.uptime() - began;
      // How long the fleet takes to engage it is not known.
      assert.ok(waited >= least && waited < 3_600_000, `${leaseDurationSeconds} s: ${waited} ms`);
    }
  });
});
