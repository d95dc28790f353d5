import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { published } from '../../fixtures/channel.ts';
import { gate, map, note, startOne } from '../../fixtures/controllers.ts';
import { isEngaged, stateOf } from '../../fixtures/fleet-hub.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { turns, until } from '../../fixtures/until.ts';

describe('when a cluster is disengaged', () => {
  test('its items go, its reconciles get their signal and some time, and the others go on', async (t) => {
    const { publish, withdraw, spoke, cluster, run } = await startOne(t, ['a', 'b', 'c', 'd', 'e', 'f']);
    const other = await spoke();
    publish('two', other);
    const fleet = run();
    const aborted: string[] = [];
    let ended = 0;
    const seen = note(fleet, {
      perClusterConcurrency: 2,
      reconcile: async ({ name }, { cluster: { name: on }, signal }) => {
        if (on !== 'fleet/one') return;
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        aborted.push(name);
        ended += 1;
      },
    });
    await until(t, () => seen.length === 2);
    const engaged = fleet.get('fleet/one');
    withdraw('one');
    await until(t, () => ended === 2);
    await until(
      t,
      () =>
        engaged.config.makeApiClient !== undefined &&
        cluster.stats.openConnections >= 0 &&
        stateOf(fleet, 'one') === 'none',
    );
    assert.deepEqual(aborted.toSorted(), ['a', 'b']);
    other.add(map('after'));
    await until(t, () => seen.includes('two/after'));
    assert.equal(seen.filter((entry) => entry.startsWith('one/')).length, 2);
  });

  test('a reconcile that goes on in spite of its signal is waited for for a while, and then cannot reach the cluster', async (t) => {
    const { withdraw, publish, cluster, run, warnings } = await startOne(t, ['a']);
    const clock = new ManualClock();
    const fleet = run({ clock });
    const hold = gate(t);
    const requests: unknown[] = [];
    const seen = note(fleet, {
      reconcile: async (_request, { cluster: { config } }) => {
        await hold.promise;
        requests.push(await config.ready().catch((error: unknown) => error));
      },
    });
    await until(t, () => seen.length === 1);
    const engaged = fleet.get('fleet/one');
    withdraw('one');
    await until(t, () => engaged.signal.aborted);
    publish('one', cluster);
    await until(t, () => stateOf(fleet, 'one') === 'Pending PROFILE_REPLACED');
    await turns();
    assert.equal(stateOf(fleet, 'one'), 'Pending PROFILE_REPLACED', 'not engaged again before it has been let go');
    clock.advance(10_000);
    await until(t, () => isEngaged(fleet, 'one'));
    const line = 'reconcile of default/a on fleet/one still runs 10000 ms after its signal aborted: it is given up';
    assert.ok(warnings.includes(line), warnings.join('\n'));
    hold.open();
    await until(t, () => requests.length >= 1);
    assert.equal(Reflect.get(Object(requests[0]), 'code'), 'CONFIG_CLOSED');
  });

  test('a reconcile that never ends is given up: no timer, no place and no warning are left of it', async (t) => {
    const { withdraw, publish, cluster, run, warnings } = await startOne(t, ['a']);
    const reconciles = published(t, 'fleet-reconcile');
    const results = () => reconciles.map(({ result }) => result);
    const clock = new ManualClock();
    const fleet = run({ clock });
    const hold = gate(t);
    let calls = 0;
    const seen = note(fleet, {
      concurrency: 1,
      reconcile: () => {
        calls += 1;
        return calls === 1 ? hold.promise : undefined;
      },
    });
    await until(t, () => seen.length === 1);
    const engaged = fleet.get('fleet/one');
    withdraw('one');
    await until(t, () => engaged.signal.aborted);
    clock.advance(10_000);
    await until(t, () => stateOf(fleet, 'one') === 'none');
    assert.deepEqual(results(), ['cancelled']);
    publish('one', cluster);
    await until(t, () => seen.length === 2);
    await fleet.close();
    const before = warnings.length;
    assert.deepEqual(clock.waits, []);
    clock.advance(1_000_000);
    hold.open();
    await turns();
    assert.equal(warnings.length, before);
    assert.deepEqual(results(), ['cancelled', 'success']);
  });

  test('and engaged again, everything on it is looked at again', async (t) => {
    const { publish, withdraw, cluster, run } = await startOne(t, ['a', 'b']);
    const fleet = run();
    const seen = note(fleet);
    await until(t, () => seen.length === 2);
    withdraw('one');
    publish('one', cluster);
    await until(t, () => seen.length === 4);
    assert.deepEqual(seen.toSorted(), ['one/a', 'one/a', 'one/b', 'one/b']);
  });
});
