import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FleetError } from '../../../src/fleet/index.ts';
import { type ConfigMap, configMaps, gate, map, note, startOne } from '../../fixtures/controllers.ts';
import { startHub } from '../../fixtures/fleet-hub.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { turns, until } from '../../fixtures/until.ts';

describe('a controller', () => {
  test('never works on one object twice at once, and works on it again, once, if it changes meanwhile', async (t) => {
    const { cluster, run } = await startOne(t, ['a']);
    const fleet = run();
    const hold = gate(t);
    let active = 0;
    const seen = note(fleet, {
      reconcile: async () => {
        active += 1;
        assert.equal(active, 1);
        await hold.promise;
        active -= 1;
      },
    });
    await until(t, () => active === 1);
    for (let i = 0; i < 3; i++) cluster.set({ ...map('a'), data: { i: String(i) } });
    await until(t, () => fleet.get('fleet/one').informer<ConfigMap>(configMaps).get('a', 'default')?.data?.i === '2');
    assert.equal(seen.length, 1);
    hold.open();
    await until(t, () => seen.length === 2);
    await turns();
    assert.deepEqual([active, seen.length], [0, 2]);
  });

  test('whose reconcile takes too long gets its signal, and the item is tried again', async (t) => {
    const { run } = await startOne(t, ['a']);
    const clock = new ManualClock();
    const fleet = run({ clock });
    const reasons: unknown[] = [];
    const seen = note(fleet, {
      reconcileTimeoutMs: 1_000_000,
      reconcile: (_request, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason);
            reject(signal.reason);
          });
        }),
    });
    await until(t, () => seen.length === 1);
    clock.advance(1_000_000);
    await clock.waiting((ms) => ms === 5);
    assert.ok(reasons[0] instanceof FleetError);
    assert.equal(reasons[0].message, 'reconcile of default/a did not end within 1000000 ms');
    clock.advance(5);
    await until(t, () => seen.length === 2);
  });

  test('whose reconcile never ends loses its place, and nobody else works on that item', async (t) => {
    const { cluster, run, warnings } = await startOne(t, ['a', 'b']);
    const clock = new ManualClock();
    const hold = gate(t);
    const fleet = run({ clock });
    const seen = note(fleet, {
      concurrency: 1,
      reconcileTimeoutMs: 20_000,
      reconcile: ({ name }) => (name === 'a' ? hold.promise : undefined),
    });
    await until(t, () => seen.length === 1);
    clock.advance(20_000);
    clock.advance(5_000);
    await until(t, () => seen.length === 2);
    assert.ok(warnings.some((line) => line.includes('nor when its signal aborted')));
    cluster.set({ ...map('a'), data: { again: 'x' } });
    cluster.set({ ...map('b'), data: { again: 'x' } });
    await until(t, () => seen.length === 3);
    assert.deepEqual(seen, ['one/a', 'one/b', 'one/b']);
    hold.open();
    await until(t, () => seen.length === 4);
    assert.equal(seen[3], 'one/a');
  });

  test('gives a cluster that was slow all its places again when its reconciles end in time, though they fail', async (t) => {
    const { cluster, run } = await startOne(t, ['a']);
    const clock = new ManualClock();
    const fleet = run({ clock });
    let active = 0;
    let most = 0;
    const hold = gate(t);
    let mode: 'hangs' | 'fails' | 'counts' = 'hangs';
    const seen = note(fleet, {
      perClusterConcurrency: 3,
      reconcileTimeoutMs: 20_000,
      reconcile: async (_request, { signal }) => {
        if (mode === 'hangs')
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        if (mode === 'fails') throw new Error('at once');
        active += 1;
        most = Math.max(most, active);
        await hold.promise;
        active -= 1;
      },
    });
    await until(t, () => seen.length === 1);
    mode = 'fails';
    clock.advance(20_000);
    await clock.waiting((ms) => ms === 5);
    clock.advance(5);
    await until(t, () => clock.waits.includes(10));
    mode = 'counts';
    cluster.add(Array.from({ length: 6 }, (_, i) => map(`m-${i}`)));
    await until(t, () => most === 3);
    hold.open();
  });

  test('works on a cluster though all the others hang', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const hung = await spoke();
    hung.add(Array.from({ length: 5 }, (_, i) => map(`m-${i}`)));
    for (let i = 0; i < 3; i++) publish(`hung-${i}`, hung);
    const healthy = await spoke();
    publish('healthy', healthy);
    const fleet = run();
    let active = 0;
    const seen = note(fleet, {
      concurrency: 8,
      reconcile: (_request, { cluster: { name }, signal }) => {
        if (name === 'fleet/healthy') return;
        active += 1;
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    });
    await fleet.synced();
    await until(t, () => active >= 6);
    for (let i = 0; i < 3; i++) {
      healthy.add(map(`change-${i}`));
      await until(t, () => seen.includes(`healthy/change-${i}`));
    }
    // The third may have had its first place of those that are kept.
    assert.ok(active <= 7, `${active} at once`);
  });
});
