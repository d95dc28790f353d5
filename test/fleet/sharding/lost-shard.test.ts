import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { published } from '../../fixtures/channel.ts';
import { configMaps, gate, map } from '../../fixtures/controllers.ts';
import { startReplicas } from '../../fixtures/replicas.ts';
import { turns, until } from '../../fixtures/until.ts';

/** One cluster with one object, whose reconcile goes on in spite of its signal until a gate opens. */
async function startStuck(t: TestContext) {
  const { hub, spoke, start, warnings } = await startReplicas(t, 1);
  spoke.add(map('a'));
  const one = start('one');
  const { clock, fleet } = one;
  const reconciles = published(t, 'fleet-reconcile');
  const gates = [gate(t)];
  const counts = { begun: 0, atOnce: 0, most: 0 };
  fleet.controller({
    name: 'stuck',
    for: configMaps,
    concurrency: 1,
    async reconcile() {
      counts.begun += 1;
      counts.atOnce += 1;
      counts.most = Math.max(counts.most, counts.atOnce);
      await gates[counts.begun - 1]?.promise;
      counts.atOnce -= 1;
    },
  });
  one.run();
  await until(t, () => counts.begun === 1);
  let isAway = false;
  hub.failNext(503, 1_000_000, ({ url }) => isAway && url.includes('/leases'));
  return {
    ...{ clock, counts, fleet, gates, one, reconciles, warnings },
    /** Until the shard is lost. The hub answers again afterwards. */
    lose: async () => {
      isAway = true;
      clock.advance(20_000);
      isAway = false;
      await turns();
    },
  };
}

describe('a reconcile that goes on when its shard is lost', () => {
  test('is waited for, and its object is not reconciled again until it has ended', async (t) => {
    const { clock, counts, fleet, gates, one, reconciles, lose } = await startStuck(t);
    const lostAt = clock.uptime() + 20_000;
    await lose();
    // The hub answers: the shard is this replica's again long before anybody may work on the cluster.
    await one.passUntil(() => clock.uptime() >= lostAt + 9_000);
    await turns();
    assert.equal(counts.begun, 1);
    assert.equal(fleet.list()[0]?.state, 'NotOwned');
    gates[0]?.open();
    await one.passUntil(() => counts.begun === 2);
    assert.equal(counts.most, 1);
    await until(t, () => reconciles.length === 2);
    assert.ok(reconciles.every(({ result }) => result === 'success'));
  });

  test('is given up after a while, as after any other end: the only place of the controller is free', async (t) => {
    const { clock, counts, fleet, gates, one, lose, warnings } = await startStuck(t);
    for (let lost = 1; lost <= 3; lost++) {
      gates.push(gate(t));
      await lose();
      await one.passUntil(() => counts.begun === lost + 1);
    }
    const line = /^reconcile of default\/a on fleet\/c0 still runs 10000 ms after its signal aborted: it is given up$/;
    assert.equal(warnings.filter((warning) => line.test(warning)).length, 3, warnings.join('\n'));
    let closed = false;
    fleet.close().then(() => (closed = true));
    await one.passUntil(() => closed);
    assert.deepEqual(clock.waits, []);
  });

  test('holds no cache: what is left of the cluster goes', async (t) => {
    const { gates, counts, fleet, one, lose } = await startStuck(t);
    const before = new WeakRef(fleet.get('fleet/c0'));
    gates[0]?.open();
    await until(t, () => counts.atOnce === 0);
    await lose();
    await one.passUntil(() => fleet.list()[0]?.state === 'Engaged');
    assert.ok(globalThis.gc, 'tests run with --expose-gc');
    await until(t, () => {
      globalThis.gc?.();
      return before.deref() === undefined;
    });
  });
});
