import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gate, note, startEngaged, startOne } from '../../fixtures/controllers.ts';
import { isEngaged, stateOf } from '../../fixtures/fleet-hub.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { turns, until } from '../../fixtures/until.ts';

type Step = (parts: Awaited<ReturnType<typeof startOne>>) => unknown;

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

  test('in where it leads is disengaged, and engaged again if it can be resolved', async (t) => {
    const { publish, spoke, cluster, fleet, engaged } = await startEngaged(t);
    const after = await spoke();
    publish('one', after);
    await until(t, () => engaged.signal.aborted);
    assert.equal(engaged.signal.reason.reason, 'PROFILE_CHANGED');
    await until(t, () => isEngaged(fleet, 'one'));
    const { config, signal } = fleet.get('fleet/one');
    assert.equal(config.access.cluster.server, after.url);
    publish('one', 'http://example.dev');
    await until(t, () => stateOf(fleet, 'one') === 'Backoff RESOLVE/SERVER_INSECURE');
    assert.ok(signal.aborted);
    publish('one', cluster);
    await until(t, () => isEngaged(fleet, 'one'));
  });

  const ways: Record<string, { readonly leave: Step; readonly back: Step }> = {
    'is deleted and made again': {
      leave: ({ withdraw }) => withdraw('one'),
      back: ({ publish, cluster }) => publish('one', cluster),
    },
    'is left out by select and taken in again': {
      leave: ({ publish, cluster }) => publish('one', cluster, { labels: { out: 'yes' } }),
      back: ({ publish, cluster }) => publish('one', cluster),
    },
  };
  for (const [way, { leave, back }] of Object.entries(ways)) {
    test(`and ${way} while its reconcile is waited for is in the fleet all the time from then on`, async (t) => {
      const parts = await startOne(t, ['a']);
      const fleet = parts.run({ clock: new ManualClock(), select: ({ metadata }) => metadata.labels?.out !== 'yes' });
      const hold = gate(t);
      const seen = note(fleet, { reconcile: () => hold.promise });
      await until(t, () => seen.length === 1);
      const before = fleet.get('fleet/one');
      for (let times = 0; times < 2; times++) {
        leave(parts);
        await until(t, () => fleet.list().length === 0);
        const message = /^fleet\/one is not in the fleet: (its|select)/;
        assert.throws(() => fleet.get('fleet/one'), { name: 'FleetError', message });
        back(parts);
        await until(t, () => fleet.list().length === 1);
        assert.match(stateOf(fleet, 'one'), /^Pending /);
        assert.throws(() => fleet.get('fleet/one'), { name: 'FleetError', code: 'CLUSTER_NOT_READY' });
      }
      assert.ok(before.signal.aborted);
      let synced = false;
      fleet.synced().then(() => (synced = true));
      await turns();
      assert.equal(synced, false, 'it is about to be tried');
      assert.equal(seen.length, 1);
      hold.open();
      await until(t, () => synced && seen.length === 2);
      assert.ok(isEngaged(fleet, 'one'));
      assert.notEqual(fleet.get('fleet/one'), before);
      await fleet.close();
      const closed = 'fleet/one cannot be used: the fleet has been closed';
      assert.throws(() => fleet.get('fleet/one'), { name: 'FleetError', message: closed });
    });
  }

  test('by being deleted and made again waits out no pause of the one that was', async (t) => {
    const { publish, withdraw, cluster, run } = await startOne(t);
    cluster.failNext(500, 1, ({ url }) => url === '/version');
    const fleet = run({ clock: new ManualClock() });
    await until(t, () => stateOf(fleet, 'one') === 'Backoff REQUEST/STATUS_500');
    withdraw('one');
    publish('one', cluster);
    await until(t, () => isEngaged(fleet, 'one'));
  });
});
