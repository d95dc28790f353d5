import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fleet } from '../../src/fleet/index.ts';
import { configMaps, map, startOne } from '../fixtures/controllers.ts';
import { isEngaged } from '../fixtures/fleet-hub.ts';
import { ManualClock } from '../fixtures/manual-clock.ts';
import { until } from '../fixtures/until.ts';

const owner = { fieldManager: 'labels' };

/** Labels each ConfigMap of the clusters and removes one, and reports on the hub. */
function addController(fleet: Fleet) {
  const reconciled: string[] = [];
  fleet.controller({
    name: 'labels',
    for: configMaps,
    reconcile: async ({ name, namespace = '' }, { cluster, object, hub, wrote }) => {
      if (object) {
        const maps = cluster.resource({ ...configMaps, ...owner });
        wrote(await maps.apply({ metadata: { name, labels: { seen: 'yes' } } }, { force: true }));
        if (name === 'old') await maps.delete(name);
        cluster.events.record(object, { reason: 'Labelled', action: 'Label' });
        const report = { metadata: { name: `${name}-report` }, data: { namespace } };
        await hub.resource({ ...configMaps, ...owner }).apply(report);
      }
      reconciled.push(name);
    },
  });
  return reconciled;
}

describe('a fleet with preview: true', () => {
  test('runs its controllers, writes nothing to clusters and hub, says what the same controllers then write, and leaves the hub that it was given open', async (t) => {
    const { hub, hubConfig, cluster, fleet: make, warnings } = await startOne(t, ['a', 'old']);
    const stored = () =>
      [hub, cluster].flatMap((server) => [
        server.list({ apiVersion: 'v1', kind: 'ConfigMap' }),
        server.list({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }),
        server.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event' }),
      ]);
    const before = stored();
    const clock = new ManualClock();
    const given = hubConfig();
    const sharding = { namespace: 'default', name: 'shared', identity: 'one' };
    const fleet = make({ hub: given, preview: true, clock, sharding });
    const reconciled = addController(fleet);
    const running = fleet.run();
    // The clock stands still: no reconcile waits for a cache that never has what it wrote.
    await until(t, () => reconciled.length === 2 && fleet.preview?.summary().length === 5);
    assert.ok(isEngaged(fleet, 'one'));
    const [{ config } = assert.fail()] = fleet.clusters();
    await assert.rejects(fleet.hub.config.fetch('/api/v1/namespaces/default/pods/p/exec'), { code: 'PREVIEW_REFUSED' });
    await assert.rejects(config.credential(), { code: 'PREVIEW_REFUSED' });
    const summary = fleet.preview?.summary() ?? [];
    await fleet.close();
    await running;
    await assert.rejects(fleet.hub.config.fetch('/version'), { code: 'CONFIG_CLOSED' });
    assert.deepEqual(stored(), before);
    const shown = summary.map(({ cluster: name, verb, object }) => `${name} ${verb} ${object}`);
    assert.deepEqual(shown, [
      'fleet/one update default/a',
      'fleet/one update default/old',
      'fleet/one delete default/old',
      'kubeconfig, context hub create default/a-report',
      'kubeconfig, context hub create default/old-report',
    ]);
    assert.deepEqual(summary[0]?.changes, ['metadata.labels.seen: "yes"']);
    assert.match(warnings.join('\n'), /would update ConfigMap default\/a: metadata.labels.seen: "yes"/);

    const real = make({ hub: given });
    const done = addController(real);
    void real.run();
    await until(t, () => done.length >= 2 && hub.get(map('old-report')) !== undefined && !cluster.get(map('old')));
    assert.equal(real.preview, undefined);
    assert.equal(cluster.get(map('a'))?.metadata.labels?.seen, 'yes');
    assert.ok(hub.get(map('a-report')));
  });
});
