import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startOne } from '../fixtures/controllers.ts';
import { isEngaged, stateOf } from '../fixtures/fleet-hub.ts';
import { ManualClock } from '../fixtures/manual-clock.ts';
import { until } from '../fixtures/until.ts';

describe('a hub', () => {
  test('without the CRD is told which manifest to apply, and the fleet goes on when it appears', async (t) => {
    const { hub, run, warnings } = await startOne(t);
    const clock = new ManualClock();
    let missing = true;
    hub.failNext(404, 1_000, ({ url }) => missing && url.startsWith('/apis/multicluster'));
    const fleet = run({ clock });
    const ms = await clock.waiting((wait) => wait >= 800 && wait < 30_000);
    const manifest = 'crds/multicluster.x-k8s.io_clusterprofiles.yaml of clusterprofile-credentials';
    assert.match(warnings[0] ?? '', new RegExp(`does not serve ClusterProfile .*apply ${manifest} to the hub`));
    missing = false;
    clock.advance(ms);
    await until(t, () => isEngaged(fleet, 'one'));
  });

  test('that goes away leaves every cluster as it is, and is read again when it comes back', async (t) => {
    const { hub, publish, withdraw, cluster, run } = await startOne(t);
    publish('two', cluster);
    const fleet = run();
    await fleet.synced();
    const engaged = fleet.get('fleet/one');
    await hub.close();
    withdraw('two');
    publish('three', cluster);
    await hub.restart();
    await until(t, () => isEngaged(fleet, 'three') && stateOf(fleet, 'two') === 'none');
    assert.equal(fleet.get('fleet/one'), engaged);
    assert.ok(!engaged.signal.aborted);
  });
});
