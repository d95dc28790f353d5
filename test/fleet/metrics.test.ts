import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Registry } from 'prom-client';
import { FleetMetrics } from '../../src/fleet/index.ts';
import { published } from '../fixtures/channel.ts';
import { configMaps, startOne } from '../fixtures/controllers.ts';
import { startHub } from '../fixtures/fleet-hub.ts';
import { scraped } from '../fixtures/measured.ts';
import { until } from '../fixtures/until.ts';

async function startFleetWith(t: Parameters<typeof startOne>[0], clusterLabel: boolean) {
  const parts = await startOne(t, ['a', 'b']);
  parts.publish('dead', 'https://127.0.0.1:1');
  const registry = new Registry();
  const metrics = new FleetMetrics({ registry, clusterLabel });
  const fleet = parts.run({ metrics });
  let failures = 0;
  fleet.controller({
    name: 'maps',
    for: configMaps,
    concurrency: 7,
    reconcile: ({ name }) => {
      if (name === 'b' && failures++ < 2) throw new Error('not yet');
    },
  });
  return { ...parts, registry, metrics, fleet };
}

describe('the metrics of a fleet', () => {
  test('count clusters by state, watches that begin again by reason, and reconciles as controller-runtime and client-go do', async (t) => {
    const { registry, fleet, hub } = await startFleetWith(t, false);
    await fleet.synced();
    await until(t, () => fleet.list().length === 2);
    const successes = 'controller_runtime_reconcile_total{controller="maps",result="success"}';
    await until(t, async () => (await scraped(registry, successes)) === 2);
    assert.equal(await scraped(registry, 'clusterprofile_fleet_clusters{state="Engaged"}'), 1);
    assert.equal(await scraped(registry, 'clusterprofile_fleet_clusters{state="Backoff"}'), 1);
    assert.equal(await scraped(registry, 'clusterprofile_fleet_clusters{state="NotReady"}'), 0);
    assert.equal(await scraped(registry, 'controller_runtime_reconcile_total{controller="maps",result="error"}'), 2);
    assert.equal(await scraped(registry, 'controller_runtime_reconcile_errors_total{controller="maps"}'), 2);
    assert.equal(await scraped(registry, 'controller_runtime_reconcile_time_seconds_count{controller="maps"}'), 4);
    assert.equal(await scraped(registry, 'controller_runtime_max_concurrent_reconciles{controller="maps"}'), 7);
    assert.equal(await scraped(registry, 'controller_runtime_active_workers{controller="maps"}'), 0);
    assert.equal(await scraped(registry, 'workqueue_adds_total{name="maps"}'), 4);
    assert.equal(await scraped(registry, 'workqueue_retries_total{name="maps"}'), 2);
    assert.equal(await scraped(registry, 'workqueue_depth{name="maps"}'), 0);
    assert.equal(await scraped(registry, 'workqueue_queue_duration_seconds_count{name="maps"}'), 4);
    hub.failNext(503, 1, ({ url }) => url.includes('watch=true'));
    hub.endWatches();
    const restarts = 'clusterprofile_fleet_reflector_restarts_total{reason="server_error"}';
    await until(t, async () => (await scraped(registry, restarts)) === 1);
    assert.ok(!(await registry.metrics()).includes('fleet/one'), 'no cluster in a label');
  });

  test('name the cluster where they are told to', async (t) => {
    const { registry, fleet } = await startFleetWith(t, true);
    await fleet.synced();
    const line = 'controller_runtime_reconcile_total{controller="maps",cluster="fleet/one",result="success"}';
    await until(t, async () => (await scraped(registry, line)) === 2);
  });

  test('belong to one fleet, and to one registry once', async (t) => {
    const { fleet } = await startHub(t);
    const registry = new Registry();
    const metrics = new FleetMetrics({ registry });
    fleet({ metrics });
    assert.throws(() => fleet({ metrics }), /metrics: belongs to another Fleet/);
    assert.throws(() => new FleetMetrics({ registry }), /already been registered/);
  });
});

test('what happens in a fleet is told on diagnostics_channel', async (t) => {
  const [changes, reconciles] = [published(t, 'fleet-cluster'), published(t, 'fleet-reconcile')];
  const { fleet, withdraw } = await startFleetWith(t, false);
  await until(t, () => reconciles.some(({ result }) => result === 'success'));
  withdraw('one');
  await until(t, () => changes.some(({ state }) => state === undefined));
  const states = changes
    .filter(({ cluster }) => cluster === 'fleet/one')
    .map(({ state, reason }) => `${state} ${reason}`);
  assert.deepEqual(states, [
    'Engaging RESOLVE',
    'Engaging CREDENTIAL',
    'Engaging REQUEST',
    'Engaging HANDLERS',
    'Engaged ENGAGED',
    'Pending PROFILE_DELETED',
    'undefined PROFILE_DELETED',
  ]);
  const { controller, cluster, namespace } = reconciles[0] ?? {};
  assert.deepEqual([controller, cluster, namespace], ['maps', 'fleet/one', 'default']);
  assert.ok(fleet.list().length === 1);
});
