import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { published } from '../../fixtures/channel.ts';
import { gate, map, note, startOne } from '../../fixtures/controllers.ts';
import { isEngaged, stateOf } from '../../fixtures/fleet-hub.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { turns, until } from '../../fixtures/until.ts';

describe('when a cluster is disengaged', () => {
  test('its items go, its reconciles get their signal and some time, and the others go on', async (t) => {
    const { publish, withdraw, spoke, run } = await startOne(t, ['a', 'b', 'c', 'd', 'e', 'f']);
    const other = await spoke();
    publish('two', other);
    const fleet = run();
    const aborted: string[] = [];
    const seen = note(fleet, {
      perClusterConcurrency: 2,
      reconcile: async ({ name }, { cluster: { name: on }, signal }) => {
        if (on !== 'fleet/one') return;
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        aborted.push(name);
      },
    });
    await until(t, () => seen.length === 2);
    withdraw('one');
    await until(t, () => aborted.length === 2);
    await until(t, () => stateOf(fleet, 'one') === 'none');
    assert.deepEqual(aborted.toSorted(), ['a', 'b']);
    other.add(map('after'));
    await until(t, () => seen.includes('two/after'));
    assert.equal(seen.filter((entry) => entry.startsWith('one/')).length, 2);
  });

  test('a reconcile that goes on in spite of its signal is given up after a while, reaches the cluster no more, and leaves no place, timer or warning', async (t) => {
    const { withdraw, publish, cluster, run, warnings } = await startOne(t, ['a', 'b']);
    const reconciles = published(t, 'fleet-reconcile');
    const results = () => reconciles.map(({ result }) => result);
    const clock = new ManualClock();
    const fleet = run({ clock });
    const hold = gate(t);
    const requests: unknown[] = [];
    const seen = note(fleet, {
      concurrency: 1,
      reconcile: async (_request, { cluster: { config } }) => {
        if (seen.length > 1) return;
        await hold.promise;
        requests.push(await config.ready().catch((error: unknown) => error));
      },
    });
    await until(t, () => seen.length === 1);
    const engaged = fleet.get('fleet/one');
    withdraw('one');
    await until(t, () => engaged.signal.aborted);
    publish('one', cluster);
    await until(t, () => stateOf(fleet, 'one').startsWith('Pending '));
    await turns();
    assert.match(stateOf(fleet, 'one'), /^Pending /, 'not engaged again before it has been let go');
    clock.advance(10_000);
    await until(t, () => isEngaged(fleet, 'one'));
    assert.equal(results()[0], 'cancelled');
    const line = 'reconcile of default/a on fleet/one still runs 10000 ms after its signal aborted: it is given up';
    assert.ok(warnings.includes(line), warnings.join('\n'));
    // Everything is looked at again.
    await until(t, () => seen.length === 3);
    assert.deepEqual(seen.slice(1).toSorted(), ['one/a', 'one/b']);
    await fleet.close();
    const before = warnings.length;
    assert.deepEqual(clock.waits, []);
    clock.advance(1_000_000);
    hold.open();
    await until(t, () => requests.length === 1);
    assert.equal(Reflect.get(Object(requests[0]), 'code'), 'CONFIG_CLOSED');
    await turns();
    assert.equal(warnings.length, before);
    assert.deepEqual(results(), ['cancelled', 'success', 'success']);
  });
});
