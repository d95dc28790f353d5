import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { Registry } from 'prom-client';
import { FleetError, FleetMetrics } from '../../../src/fleet/index.ts';
import { stateOf } from '../../fixtures/fleet-hub.ts';
import { scraped } from '../../fixtures/measured.ts';
import { clusterNames, engagedIn, shardOfCluster, startReplicas } from '../../fixtures/replicas.ts';
import { until } from '../../fixtures/until.ts';

describe('replicas that share a fleet, where something fails', () => {
  test('let go of everything at the deadline, before another replica may begin', async (t) => {
    const { hub, startAlone } = await startReplicas(t, 16);
    const one = await startAlone();
    const held = one.fleet.get('fleet/c0');
    const said = new Set<string>();
    hub.failNext('hang', 1_000_000, ({ url }) => url.includes('/leases'));
    one.clock.advance(19_000);
    assert.equal(held.signal.aborted, false);
    assert.equal((await held.config.makeApiClient(CoreV1Api).listNamespace()).items.length, 2);
    one.clock.advance(1_000);
    assert.equal(held.signal.aborted, true);
    assert.ok(held.signal.reason instanceof FleetError);
    assert.match(held.signal.reason.message, /^fleet\/c0 is disengaged \(SHARD_LOST\)/);
    await assert.rejects(held.config.makeApiClient(CoreV1Api).listNamespace(), { code: 'CLUSTER_DISENGAGED' });
    await until(t, () => {
      const listed = one.fleet.list();
      for (const { reason } of listed) said.add(reason);
      return listed.every(({ state, reason }) => state === 'NotOwned' && reason === 'NO_OWNER');
    });
    // Nothing is handed over to the replica itself.
    const others = [...said].filter((reason) => !['ENGAGED', 'SHARD_LOST', 'NO_OWNER'].includes(reason));
    assert.deepEqual(others, []);
    const why =
      /^its shard \d+ has no owner at the moment: this replica has not written its own Lease in time, or not yet$/;
    assert.match(String(one.fleet.list()[0]?.message), why);
  });

  test('say every 30 seconds that their Lease is not renewed, and what they tried', async (t) => {
    const { hub, startAlone, warnings } = await startReplicas(t, 1);
    const one = await startAlone();
    hub.failNext(503, 1_000_000, ({ method }) => method === 'PUT');
    const reminders = () => warnings.filter((text) => / for [36]\d s, in \d\d+ attempts: .*503/.test(text));
    await one.passUntil(() => reminders().length === 2);
  });

  test('count the time from the start of the last renewal, however long that took', async (t) => {
    const { hub, startAlone } = await startReplicas(t, 1);
    const { clock, fleet } = await startAlone();
    const { signal } = fleet.get('fleet/c0');
    let lists = 0;
    hub.onRequest = ({ method, url }) => {
      if (method === 'GET' && /\/leases\?labelSelector=[^&]*$/.test(url) && lists++ === 0) clock.advance(3_000);
    };
    clock.advance(7_500);
    // It waits for the next one.
    await until(t, () => lists === 1 && clock.waits.some((ms) => ms > 3_700 && ms <= 4_500));
    hub.failNext('hang', 1_000_000, ({ url }) => url.includes('/leases'));
    clock.advance(16_000);
    assert.equal(signal.aborted, false);
    clock.advance(1_000);
    assert.equal(signal.aborted, true);
  });

  test('send nothing after the deadline, also before any timer has run: a process may have been stopped', async (t) => {
    const { publish, spoke, startAlone } = await startReplicas(t, 1);
    const one = await startAlone();
    const { config, signal } = one.fleet.get('fleet/c0');
    one.clock.skip(20_000);
    await assert.rejects(config.makeApiClient(CoreV1Api).listNamespace(), { code: 'CLUSTER_DISENGAGED' });
    await assert.rejects(config.fetch('/version'), { code: 'CLUSTER_DISENGAGED' });
    assert.equal(signal.aborted, false, 'by the request alone');
    publish('c0', spoke, { heartbeat: 'later' });
    await until(t, () => signal.aborted);
    assert.equal(signal.reason.reason, 'SHARD_LOST');
  });

  test('wait for news where an attempt to engage ends after the deadline, before any timer has run', async (t) => {
    const { hub, publish, spoke, start } = await startReplicas(t, 1);
    const { clock, fleet, run } = start('one');
    const [name = '', other = ''] = clusterNames(500).filter((it) => shardOfCluster(it) === shardOfCluster('fleet/c0'));
    publish(other.replace('fleet/', ''), spoke);
    const gate = Promise.withResolvers<void>();
    // The other one goes on: its shard is not left.
    fleet.onEngage(async (cluster) => {
      if (cluster.name !== name) return;
      await gate.promise;
      await cluster.config.fetch('/version');
    });
    run();
    await until(t, () => stateOf(fleet, 'c0') === 'Engaging HANDLERS' && engagedIn(fleet).includes(other));
    // Else the shard is this replica's again before anyone looks.
    hub.failNext(503, 1_000_000, ({ url }) => url.includes('/leases'));
    clock.skip(20_000);
    gate.resolve();
    // Who tried again and again without a wait would let no timer and no answer come.
    await until(t, () => fleet.list().every(({ reason }) => reason !== 'HANDLERS'));
    clock.advance(20_000);
    await until(t, () => fleet.list().every(({ state }) => state === 'NotOwned'));
  });

  test('count what they own, what moves, and what fails', async (t) => {
    const { hub, start, warnings } = await startReplicas(t, 1);
    const registry = new Registry();
    const one = start('one', {}, { metrics: new FleetMetrics({ registry }) });
    const two = start('two');
    const value = (series: string) => scraped(registry, series);
    one.run();
    await until(t, async () => (await value('clusterprofile_fleet_shards_owned')) === 64);
    hub.failNext(503, 1, ({ method, url }) => method === 'PUT' && url.includes('/shared-shard-'));
    two.run();
    await until(t, async () => (await value('clusterprofile_fleet_lease_failures_total{lease="shard"}')) === 1);
    one.clock.advance(2_000);
    await until(t, async () => (await value('clusterprofile_fleet_shards_owned')) === 32);
    assert.equal(await value('clusterprofile_fleet_replicas'), 2);
    await until(t, async () => (await value('clusterprofile_fleet_shard_changes_total{change="handed_over"}')) === 32);
    await two.leave();
    await until(t, async () => (await value('clusterprofile_fleet_shard_changes_total{change="taken"}')) === 96);
    assert.equal(await value('clusterprofile_fleet_shard_unowned_seconds_count'), 32);
    hub.failNext(503, 1_000_000, ({ method, url }) => method === 'PUT' && url.includes('/leases'));
    one.clock.advance(11_000);
    await until(t, async () => ((await value('clusterprofile_fleet_lease_failures_total{lease="replica"}')) ?? 0) >= 1);
    one.clock.advance(4_000);
    await until(t, async () => ((await value('clusterprofile_fleet_lease_failures_total{lease="replica"}')) ?? 0) >= 2);
    one.clock.advance(5_000);
    await until(t, async () => (await value('clusterprofile_fleet_shard_changes_total{change="lost"}')) === 64);
    assert.equal(await value('clusterprofile_fleet_shards_owned'), 0);
    assert.equal(warnings.filter((line) => line.startsWith('a Lease of fleet shared cannot be written')).length, 2);
  });

  test('say which permission they lack, whatever they are refused', async (t) => {
    const requests = {
      list: /\/leases\?labelSelector=[^&]*$/,
      watch: /\/leases\?.*watch=/,
      PUT: /\/leases\/shared-replica-/,
      POST: /\/leases$/,
    };
    for (const [what, path] of Object.entries(requests)) {
      const { hub, start, warnings } = await startReplicas(t, 1);
      const one = start('one');
      const method = what === what.toUpperCase() ? what : 'GET';
      hub.failNext(403, 1_000_000, (request) => request.method === method && path.test(request.url));
      one.run();
      const advice =
        'allow the verbs get, list, watch, create, update and delete on leases.coordination.k8s.io in namespace default';
      await one.passUntil(() => warnings.some((line) => line.includes(advice)));
    }
  });
});
