import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isEngaged, startHub, stateOf } from '../../fixtures/fleet-hub.ts';
import { until } from '../../fixtures/until.ts';

describe('one cluster with several profiles', () => {
  test('is engaged once, under the first by name; the next takes over when it goes', async (t) => {
    const { publish, withdraw, spoke, run } = await startHub(t);
    const cluster = await spoke();
    const same = { properties: [{ name: 'cluster.clusterset.k8s.io', value: 'x' }] };
    publish('b', cluster, same);
    publish('c', cluster, same);
    publish('other', cluster, { properties: [{ name: 'cluster.clusterset.k8s.io', value: 'y' }] });
    const fleet = run({ identify: ({ status }) => status?.properties?.[0]?.value ?? '' });
    const engagements: string[] = [];
    let engaged = 0;
    fleet.onEngage(({ name, signal }) => {
      if (name === 'fleet/other') return;
      engagements.push(name);
      engaged += 1;
      assert.equal(engaged, 1, 'never twice at once');
      signal.addEventListener('abort', () => {
        engaged -= 1;
      });
    });
    await fleet.synced();
    assert.equal(stateOf(fleet, 'c'), 'Duplicate SAME_CLUSTER');
    assert.ok(isEngaged(fleet, 'other'));
    withdraw('b');
    await until(t, () => isEngaged(fleet, 'c'));
    publish('a', cluster, same);
    await until(t, () => isEngaged(fleet, 'a'));
    assert.equal(stateOf(fleet, 'c'), 'Duplicate SAME_CLUSTER');
    assert.deepEqual(engagements, ['fleet/b', 'fleet/c', 'fleet/a']);
  });

  test('whose identify fails says so', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    publish('one', await spoke());
    const fleet = run({ identify: () => '' });
    await fleet.synced();
    assert.equal(stateOf(fleet, 'one'), 'Backoff IDENTIFY/HANDLER_FAILED');
  });
});
