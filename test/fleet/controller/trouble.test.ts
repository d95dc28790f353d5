import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { note } from '../../fixtures/controllers.ts';
import { startHub, stateOf } from '../../fixtures/fleet-hub.ts';
import { until } from '../../fixtures/until.ts';

const crd = (kind: string, plural: string) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.example.dev` },
  spec: {
    group: 'example.dev',
    scope: 'Namespaced',
    names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
});

describe('a controller', () => {
  test("of a kind that one cluster has not is that cluster's trouble only", async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const [without, withIt] = [await spoke(), await spoke()];
    withIt.add(crd('Thing', 'things'));
    withIt.add({ apiVersion: 'example.dev/v1', kind: 'Thing', metadata: { name: 't' } });
    publish('without', without);
    publish('with', withIt);
    const fleet = run();
    const seen = note(fleet, { for: { apiVersion: 'example.dev/v1', kind: 'Thing' } });
    await until(t, () => seen.includes('with/t'));
    await fleet.synced();
    assert.equal(stateOf(fleet, 'with'), 'Engaged ENGAGED');
    assert.equal(stateOf(fleet, 'without'), 'Engaged WATCH_FAILING');
    const { message = '' } = fleet.list().find(({ name }) => name === 'fleet/without') ?? {};
    assert.match(message, /Thing \(example\.dev\/v1\): not_found: the server does not serve Thing/);
  });
});
