import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ClusterChange, Fleet } from '../../../src/fleet/index.ts';
import { startOne } from '../../fixtures/controllers.ts';
import { isEngaged, stateOf } from '../../fixtures/fleet-hub.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { engagedIn, startReplicas } from '../../fixtures/replicas.ts';
import { until } from '../../fixtures/until.ts';

const graceMs = 30_000;

/** A controller of the ClusterProfiles that notes what becomes of clusters, and why it reconciles. */
function notes(fleet: Fleet) {
  const changes: ClusterChange[] = [];
  const reconciled: string[] = [];
  fleet.controller({
    name: 'clusters',
    for: { apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile', on: 'hub' },
    watches: [
      {
        on: 'fleet',
        graceMs,
        map: (change) => {
          changes.push(change);
          const { namespace, name } = change.profile.metadata;
          return [{ namespace, name }];
        },
      },
    ],
    reconcile: (_request, { triggers }) => {
      for (const { source, reason, event, cluster } of triggers)
        if (source === 'watches') reconciled.push(`${reason} ${event} ${cluster}`);
    },
  });
  const told = () => changes.map(({ type, cluster }) => `${type} ${cluster}`);
  return { changes, told, reconciled };
}

describe("a controller with on: 'fleet'", () => {
  test('is told at the start of each cluster that is engaged, of one that comes later, and nothing by a fleet that ends', async (t) => {
    const { publish, spoke, run } = await startOne(t);
    const fleet = run();
    const { told, reconciled } = notes(fleet);
    await until(t, () => reconciled.length === 1);
    publish('two', await spoke());
    await until(t, () => reconciled.length === 2);
    await fleet.close();
    assert.deepEqual(told(), ['Engaged fleet/one', 'Engaged fleet/two']);
    assert.deepEqual(reconciled, ['start Engaged fleet/one', 'event Engaged fleet/two']);
  });

  test('is told of an engaged cluster that stops answering, after the grace and of no shorter outage, and when it is back', async (t) => {
    const { cluster, run } = await startOne(t);
    const clock = new ManualClock();
    let isAway = false;
    cluster.failNext(500, 1_000_000, ({ url }) => isAway && url.includes('/version'));
    const { changes, told } = notes(run({ clock }));
    await until(t, () => told().length === 1);
    isAway = true;
    clock.advance(await clock.waiting((ms) => ms === graceMs / 3));
    await clock.waiting((ms) => ms === graceMs);
    isAway = false;
    clock.advance(await clock.waiting((ms) => ms === graceMs / 3));
    await until(t, () => !clock.waits.includes(graceMs));
    clock.advance(graceMs * 2);
    assert.deepEqual(told(), ['Engaged fleet/one']);
    isAway = true;
    clock.advance(await clock.waiting((ms) => ms === graceMs / 3));
    clock.advance(await clock.waiting((ms) => ms === graceMs));
    await until(t, () => told().length === 2);
    assert.equal(changes[1]?.reason, 'REQUEST/STATUS_500');
    isAway = false;
    await until(t, () => {
      if (clock.waits.includes(graceMs / 3)) clock.advance(graceMs / 3);
      return told().length === 3;
    });
    assert.deepEqual(told(), ['Engaged fleet/one', 'Unreachable fleet/one', 'Reachable fleet/one']);
  });

  test('is told of a cluster that was away when the process started, after the grace, and that it is gone', async (t) => {
    const { publish, withdraw, run } = await startOne(t);
    const clock = new ManualClock();
    publish('away', 'https://127.0.0.1:1');
    const fleet = run({ clock });
    const { told, changes } = notes(fleet);
    await until(t, () => told().length === 1);
    assert.match(stateOf(fleet, 'away'), /^Backoff /);
    clock.advance(await clock.waiting((ms) => ms === graceMs));
    await until(t, () => told().length === 2);
    withdraw('away');
    await until(t, () => told().length === 3);
    assert.deepEqual(told(), ['Engaged fleet/one', 'Unreachable fleet/away', 'Gone fleet/away']);
    assert.match(changes[1]?.reason ?? '', /^REQUEST\//);
    assert.equal(changes[2]?.reason, 'PROFILE_DELETED');
  });

  test('is told that a cluster is gone when its reconciles have ended, and that another one of its name came', async (t) => {
    const { hub, publish, withdraw, spoke, run, cluster } = await startOne(t);
    const fleet = run();
    const { told } = notes(fleet);
    await until(t, () => told().length === 1);
    const engaged = fleet.get('fleet/one');
    withdraw('one');
    await until(t, () => told().length === 2);
    assert.ok(engaged.signal.aborted);
    publish('one', cluster);
    await until(t, () => told().length === 3);
    // Deleted and made again while nobody looked.
    const other = await spoke();
    hub.endWatches();
    withdraw('one');
    publish('one', other);
    await until(t, () => told().length === 5 && isEngaged(fleet, 'one'));
    const expected = ['Engaged', 'Gone', 'Engaged', 'Gone', 'Engaged'].map((type) => `${type} fleet/one`);
    assert.deepEqual(told(), expected);
  });

  test('is told of each cluster in the replica that has it, and by the next one after that has gone', async (t) => {
    const { start, withdraw } = await startReplicas(t, 6);
    const [one, two] = [start('one'), start('two')];
    const [ours, theirs] = [notes(one.fleet), notes(two.fleet)];
    const engaged = ({ reconciled }: typeof ours, from = 0) =>
      new Set(reconciled.slice(from).flatMap((line) => / Engaged (.*)/.exec(line)?.[1] ?? []));
    one.run();
    await until(t, () => engaged(ours).size === 6);
    two.run();
    await one.passUntil(() => engaged(theirs).size > 0 && engaged(theirs).size === engagedIn(two.fleet).length, two);
    const [left = '', ...stay] = engagedIn(two.fleet);
    withdraw(left.replace('fleet/', ''));
    await until(t, () => theirs.reconciled.includes(`event Gone ${left}`));
    const before = ours.reconciled.length;
    await two.leave();
    await one.passUntil(() => stay.every((name) => engaged(ours, before).has(name)));
    assert.ok(!ours.told().some((line) => line.startsWith('Gone')));
  });
});
