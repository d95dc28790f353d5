import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FleetError } from '../../../src/fleet/index.ts';
import { gate, map, note } from '../../fixtures/controllers.ts';
import { isEngaged, startHub, stateOf } from '../../fixtures/fleet-hub.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { until } from '../../fixtures/until.ts';

describe('a cluster in Backoff', () => {
  test('because a function of its author fails is tried at once when its profile has changed since', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const [before, after] = [await spoke(), await spoke()];
    before.add(map('a'));
    publish('one', before);
    const clock = new ManualClock();
    const fleet = run({ clock });
    const hold = gate();
    const seen = note(fleet, { reconcile: () => hold.promise });
    await until(t, () => seen.length === 1);
    let fails = true;
    fleet.onEngage(() => {
      if (!fails) return;
      fails = false;
      throw new FleetError('API_STATUS', 'the inventory is overloaded', { statusCode: 503, retryAfterMs: 120_000 });
    });
    await until(t, () => stateOf(fleet, 'one') === 'Backoff HANDLERS/STATUS_503');
    // Its reconcile is waited for.
    publish('one', after);
    // The hub tells of them in their order.
    publish('two', after, { healthy: 'False' });
    await until(t, () => fleet.list().length === 2);
    hold.open();
    await until(t, () => isEngaged(fleet, 'one'));
    assert.ok(after.stats.requests > 0);
  });
});
