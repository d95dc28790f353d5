import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isEngaged, startHub, stateOf } from '../../fixtures/fleet-hub.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { until } from '../../fixtures/until.ts';

describe('health', () => {
  test('decides: True or nothing engages, Unknown does nothing, False disengages after a grace', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const clock = new ManualClock();
    const cluster = await spoke();
    publish('unknown', cluster, { healthy: 'Unknown' });
    publish('sick', cluster, { healthy: 'False' });
    publish('one', cluster, { healthy: 'True' });
    publish('quiet', cluster);
    const fleet = run({ clock, unhealthyGraceMs: 100_000 });
    await fleet.synced();
    assert.equal(stateOf(fleet, 'unknown'), 'NotReady CONTROL_PLANE_UNKNOWN');
    assert.equal(stateOf(fleet, 'sick'), 'NotReady CONTROL_PLANE_UNHEALTHY');
    assert.ok(isEngaged(fleet, 'quiet'));
    const engaged = fleet.get('fleet/one');
    const report = async (healthy: 'True' | 'False' | 'Unknown') => {
      publish('one', cluster, { healthy });
      await until(t, () => fleet.list().length > 0 && engaged.profile.status?.conditions?.[0]?.status === healthy);
    };
    await report('False');
    assert.equal(await clock.waiting((ms) => ms === 100_000), 100_000);
    clock.advance(60_000);
    await report('True');
    clock.advance(60_000);
    await report('False');
    clock.advance(60_000);
    await report('Unknown');
    clock.advance(60_000);
    assert.ok(isEngaged(fleet, 'one'), 'unknown does not disengage');
    await report('False');
    await until(t, () => stateOf(fleet, 'one') === 'NotReady CONTROL_PLANE_UNHEALTHY');
    assert.ok(engaged.signal.aborted);
    publish('one', cluster, { healthy: 'True' });
    await until(t, () => isEngaged(fleet, 'one'));
  });

  test("may be the caller's to say", async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const cluster = await spoke();
    for (const name of ['yes', 'no', 'maybe']) publish(name, cluster);
    const fleet = run({
      isReady: ({ metadata: { name } }) => (name === 'maybe' ? undefined : name === 'yes'),
    });
    await fleet.synced();
    assert.equal(stateOf(fleet, 'yes'), 'Engaged ENGAGED');
    assert.equal(stateOf(fleet, 'no'), 'NotReady NOT_READY');
    assert.equal(stateOf(fleet, 'maybe'), 'NotReady READINESS_UNKNOWN');
  });
});
