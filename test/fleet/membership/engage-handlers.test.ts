import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Cluster } from '../../../src/fleet/index.ts';
import { configMaps, startOne } from '../../fixtures/controllers.ts';
import { isEngaged, startHub, stateOf } from '../../fixtures/fleet-hub.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { until } from '../../fixtures/until.ts';

describe('an onEngage function', () => {
  test('that throws puts the cluster into Backoff and nothing else, whenever it is told', async (t) => {
    const { publish, spoke, run, warnings } = await startOne(t);
    publish('two', await spoke());
    const fleet = run();
    const told: Cluster[] = [];
    const telling = fleet.onEngage(async (cluster) => {
      told.push(cluster);
      if (cluster.name === 'fleet/one') throw new Error('no room');
    });
    await fleet.synced();
    assert.equal(stateOf(fleet, 'one'), 'Backoff HANDLERS/HANDLER_FAILED');
    assert.equal(stateOf(fleet, 'two'), 'Engaged ENGAGED');
    assert.ok(told.every(({ name, signal }) => signal.aborted === (name === 'fleet/one')));
    const said = /^fleet\/one cannot be engaged \(HANDLERS\/HANDLER_FAILED\), next try in [12] s: no room$/m;
    assert.match(warnings.join('\n'), said);
    telling[Symbol.dispose]();
    await until(t, () => isEngaged(fleet, 'one'));
    fleet.onEngage(({ name }) => {
      if (name === 'fleet/two') throw new Error('too late');
    });
    await until(t, () => stateOf(fleet, 'two') === 'Backoff HANDLERS/HANDLER_FAILED');
  });

  test('is told of every cluster before it can be used, whenever it comes, once for each time that it was given, until it is disposed of', async (t) => {
    const { publish, spoke, run } = await startOne(t);
    const fleet = run();
    const told = new Map<number, number>();
    let engaged = false;
    fleet.onEngage(async ({ name }) => {
      assert.throws(() => fleet.get(name), { code: 'CLUSTER_NOT_READY' });
      for (let i = 0; i < 5; i++) await undefined;
    });
    const handler = (count: number) => () => void told.set(count, (told.get(count) ?? 0) + 1);
    let given = 0;
    // One in every turn of the microtasks on the way into use.
    await until(t, () => stateOf(fleet, 'one').startsWith('Engaging'));
    while (!engaged && given < 5_000) {
      fleet.onEngage(handler(given));
      given += 1;
      engaged = isEngaged(fleet, 'one');
      await (given % 50 === 0 ? new Promise((resolve) => setImmediate(resolve)) : undefined);
    }
    await until(t, () => isEngaged(fleet, 'one') && told.size === given);
    assert.ok([...told.values()].every((times) => times === 1));
    const twice = handler(-1);
    const first = fleet.onEngage(twice);
    fleet.onEngage(twice);
    first[Symbol.dispose]();
    publish('two', await spoke());
    await until(t, () => isEngaged(fleet, 'two'));
    assert.equal(told.get(-1), 3);
  });

  test('that uses another cluster, which was disengaged, puts its own into Backoff: it is not called again without a pause', async (t) => {
    const { publish, withdraw, spoke, run } = await startHub(t);
    publish('other', await spoke());
    const fleet = run({ clock: new ManualClock() });
    await fleet.synced();
    const other = fleet.get('fleet/other');
    withdraw('other');
    await until(t, () => other.signal.aborted);
    fleet.onEngage(() => other.informer({ apiVersion: 'v1', kind: 'Namespace' }));
    publish('one', await spoke());
    await until(t, () => stateOf(fleet, 'one') === 'Backoff HANDLERS/CLUSTER_DISENGAGED');
  });

  for (const isLate of [false, true]) {
    test(`that never ends puts the cluster into Backoff after a while, and says what to do${isLate ? ', also where the cluster was engaged before it came' : ''}`, async (t) => {
      const { run } = await startOne(t);
      const clock = new ManualClock();
      const fleet = run({ clock });
      if (isLate) await until(t, () => stateOf(fleet, 'one') === 'Engaged ENGAGED');
      const handler = t.mock.fn(() => new Promise(() => {}));
      fleet.onEngage(handler);
      await until(t, () => handler.mock.callCount() > 0);
      clock.advance(60_000);
      await until(t, () => stateOf(fleet, 'one') === 'Backoff HANDLERS/TIMEOUT');
      assert.match(fleet.list()[0]?.message ?? '', /start long work without waiting for it/);
    });
  }
});

describe('an onDisengage function', () => {
  test('is told of a cluster that has left, with the reason, when its work has ended, until it is disposed of', async (t) => {
    const { publish, withdraw, cluster: server, run } = await startOne(t, ['a']);
    for (const name of ['two', 'three']) publish(name, server);
    const fleet = run();
    const told: string[] = [];
    const ended = Promise.withResolvers<void>();
    let working = 0;
    fleet.controller({
      name: 'slow to end',
      for: configMaps,
      reconcile: async (_request, { signal }) => {
        working += 1;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        await ended.promise;
        working -= 1;
      },
    });
    const telling = fleet.onDisengage(({ name, signal, config }, { reason }) => {
      assert.ok(signal.aborted);
      assert.throws(() => fleet.get(name));
      told.push(`${name} ${reason} ${working} ${config.access.provider}`);
    });
    await until(t, () => working === 3);
    withdraw('one');
    await until(t, () => fleet.list().length === 2);
    assert.deepEqual(told, []);
    ended.resolve();
    await until(t, () => told.length === 1);
    assert.deepEqual(told, ['fleet/one PROFILE_DELETED 2 fake']);
    publish('two', server, { server: 'https://127.0.0.1:1' });
    await until(t, () => told.length === 2);
    assert.equal(told[1], 'fleet/two PROFILE_CHANGED 1 fake');
    telling[Symbol.dispose]();
    const last: (string | undefined)[] = [];
    fleet.onDisengage((_cluster, { reason }) => void last.push(reason));
    await fleet.close();
    assert.deepEqual(last, ['FLEET_CLOSED']);
    assert.equal(told.length, 2);
  });

  test('is not told of a cluster that was never engaged, and what it throws is logged', async (t) => {
    const { publish, withdraw, spoke, run, warnings } = await startOne(t);
    publish('dead', 'https://127.0.0.1:1');
    publish('refused', await spoke());
    const fleet = run();
    fleet.onEngage(({ name }) => {
      if (name === 'fleet/refused') throw new Error('no room');
    });
    const told: string[] = [];
    fleet.onDisengage(() => {
      throw new Error('thrown');
    });
    fleet.onDisengage(async () => {
      throw new Error('rejected');
    });
    fleet.onDisengage(({ name }) => void told.push(name));
    await fleet.synced();
    withdraw('dead');
    withdraw('refused');
    await until(t, () => fleet.list().length === 1);
    withdraw('one');
    await until(t, () => told.length > 0);
    await until(t, () => warnings.includes('an onDisengage function for fleet/one failed: rejected'));
    assert.ok(warnings.includes('an onDisengage function for fleet/one failed: thrown'));
    await fleet.close();
    assert.deepEqual(told, ['fleet/one']);
  });
});
