import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { isEngaged, startHub, stateOf } from '../../fixtures/fleet-hub.ts';
import { until } from '../../fixtures/until.ts';

/** A fleet with one cluster, `fleet/one`. */
async function startEngaged(t: TestContext) {
  const parts = await startHub(t);
  const cluster = await parts.spoke();
  parts.publish('one', cluster);
  const fleet = parts.run();
  await fleet.synced();
  return { ...parts, cluster, fleet, engaged: fleet.get('fleet/one') };
}

describe('a profile that changes', () => {
  test('in what has no meaning for access restarts nothing', async (t) => {
    const { publish, cluster, fleet, engaged } = await startEngaged(t);
    const asked = cluster.stats.requests;
    publish('one', cluster, { heartbeat: 'later', healthy: 'True', properties: [{ name: 'a', value: 'b' }] });
    await until(t, () => engaged.profile.status?.properties?.length === 1);
    assert.equal(fleet.get('fleet/one'), engaged);
    assert.ok(!engaged.signal.aborted);
    assert.equal(cluster.stats.requests, asked);
  });

  test('in where it leads is disengaged and engaged again', async (t) => {
    const { publish, spoke, fleet, engaged } = await startEngaged(t);
    const after = await spoke();
    publish('one', after);
    await until(t, () => engaged.signal.aborted);
    assert.equal(engaged.signal.reason.reason, 'PROFILE_CHANGED');
    await until(t, () => isEngaged(fleet, 'one'));
    assert.equal(fleet.get('fleet/one').config.access.cluster.server, after.url);
  });

  test('so that it cannot be resolved any more is disengaged', async (t) => {
    const { publish, cluster, fleet, engaged } = await startEngaged(t);
    publish('one', 'http://example.dev');
    await until(t, () => stateOf(fleet, 'one') === 'Backoff RESOLVE/SERVER_INSECURE');
    assert.ok(engaged.signal.aborted);
    publish('one', cluster);
    await until(t, () => isEngaged(fleet, 'one'));
  });

  test('by being deleted and made again is another cluster', async (t) => {
    const { publish, withdraw, cluster, fleet, engaged } = await startEngaged(t);
    withdraw('one');
    publish('one', cluster);
    await until(t, () => engaged.signal.aborted);
    await until(t, () => isEngaged(fleet, 'one'));
    assert.notEqual(fleet.get('fleet/one'), engaged);
  });
});
