import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type PlacementDecision, placedClusters } from '../../../src/fleet/profile-source.ts';
import { isEngaged, namesOf, startHub } from '../../fixtures/fleet-hub.ts';
import { until } from '../../fixtures/until.ts';

/** A slice; labels without their prefix. */
function slice(
  name: string,
  clusters: readonly string[],
  labels: Readonly<Record<string, string>> = {},
): PlacementDecision {
  return {
    apiVersion: 'multicluster.x-k8s.io/v1alpha1',
    kind: 'PlacementDecision',
    metadata: {
      name,
      namespace: 'apps',
      uid: name,
      resourceVersion: '1',
      labels: Object.fromEntries(
        Object.entries(labels).map(([label, value]) => [`multicluster.x-k8s.io/${label}`, value]),
      ),
    },
    decisions: clusters.map((cluster) => {
      const [namespace = '', profile] = cluster.split('/');
      return { clusterProfileRef: profile === undefined ? { name: namespace } : { name: profile, namespace } };
    }),
  };
}

const flat = (placed: ReturnType<typeof placedClusters>) => [...placed.values()].flat();
const of = (revision: string, index?: string) => ({
  'decision-key': 'app',
  'decision-revision': revision,
  ...(index === undefined ? {} : { 'decision-index': index }),
});

describe('PlacementDecisions', () => {
  test('of several decisions count together, and a slice without a key is one of its own', () => {
    assert.deepEqual(flat(placedClusters([slice('one', ['f/a']), slice('two', ['f/b'])])), ['f/a', 'f/b']);
  });

  test('that are being rewritten stay as they were until all slices are of the new revision', () => {
    const before = placedClusters([slice('0', ['f/a'], of('1')), slice('1', ['f/b'], of('1'))]);
    const during = placedClusters([slice('0', ['f/c'], of('2')), slice('1', ['f/b'], of('1'))], before);
    assert.deepEqual(flat(during), ['f/a', 'f/b']);
    const after = placedClusters([slice('0', ['f/c'], of('2')), slice('1', ['f/d'], of('2'))], during);
    assert.deepEqual(flat(after), ['f/c', 'f/d']);
  });

  test('with a gap in their indexes are not there yet', () => {
    const slices = [slice('0', ['f/a'], of('1', '0')), slice('2', ['f/c'], of('1', '2'))];
    assert.deepEqual(flat(placedClusters(slices)), []);
    const whole = [...slices, slice('1', ['f/b'], of('1', '1'))];
    assert.deepEqual(flat(placedClusters(whole)).toSorted(), ['f/a', 'f/b', 'f/c']);
  });
});

test('a fleet leaves out what no decision names, and follows decisions until they are gone', async (t) => {
  const { hub, publish, spoke, run } = await startHub(t);
  const cluster = await spoke();
  for (const name of ['a', 'b', 'c']) publish(name, cluster);
  const decide = (...clusters: readonly string[]) => {
    const { metadata, ...decision } = slice('one', clusters, { 'placement-key': 'app' });
    hub.set({ ...decision, metadata: { ...metadata } });
  };
  decide('fleet/a');
  const fleet = run({ placement: { namespace: 'apps', key: 'app' } });
  await fleet.synced();
  assert.deepEqual(namesOf(fleet.list()), ['fleet/a']);
  const message = 'fleet/b is not in the fleet: no PlacementDecision names it';
  assert.throws(() => fleet.get('fleet/b'), { name: 'FleetError', message });
  const engaged = fleet.get('fleet/a');
  decide('fleet/b', 'fleet/c');
  await until(t, () => isEngaged(fleet, 'b') && isEngaged(fleet, 'c'));
  assert.ok(engaged.signal.aborted);
  hub.delete(slice('one', []));
  await until(t, () => fleet.list().length === 0);
});
