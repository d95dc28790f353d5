import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isEngaged, namesOf, startHub } from '../../fixtures/fleet-hub.ts';
import { until } from '../../fixtures/until.ts';

describe('placement', () => {
  test('leaves out what no decision names, and follows decisions', async (t) => {
    const { hub, publish, spoke, run } = await startHub(t);
    const cluster = await spoke();
    for (const name of ['a', 'b', 'c']) publish(name, cluster);
    const decide = (name: string, clusters: readonly string[], labels: Record<string, string> = {}) =>
      hub.set({
        apiVersion: 'multicluster.x-k8s.io/v1alpha1',
        kind: 'PlacementDecision',
        metadata: { name, namespace: 'apps', labels: { 'multicluster.x-k8s.io/placement-key': 'app', ...labels } },
        decisions: clusters.map((profile) => ({ clusterProfileRef: { name: profile, namespace: 'fleet' } })),
      });
    decide('one', ['a']);
    const fleet = run({ placement: { namespace: 'apps', key: 'app' } });
    await fleet.synced();
    assert.deepEqual(namesOf(fleet.list()), ['fleet/a']);
    const message = 'fleet/b is not in the fleet: no PlacementDecision names it';
    assert.throws(() => fleet.get('fleet/b'), { name: 'FleetError', message });
    const engaged = fleet.get('fleet/a');
    decide('one', ['b', 'c']);
    await until(t, () => isEngaged(fleet, 'b') && isEngaged(fleet, 'c'));
    assert.ok(engaged.signal.aborted);
  });
});
