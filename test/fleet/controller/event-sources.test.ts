import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { map, note, startOne } from '../../fixtures/controllers.ts';
import { until } from '../../fixtures/until.ts';

const secrets = { apiVersion: 'v1', kind: 'Secret' } as const;
const secret = (name: string, ownerReferences: unknown) =>
  // What no API server stores.
  ({ ...secrets, metadata: { namespace: 'default', name, ownerReferences } }) as never;
const reference = { kind: 'ConfigMap', name: 'a', uid: 'u', controller: true };

describe('an owned object whose owners cannot be read', () => {
  for (const [when, isThere] of [
    ['is in the cache when the controller comes', true],
    ['comes later', false],
  ] as const) {
    test(`and that ${when} is told with its field, and keeps no other from being reconciled`, async (t) => {
      const { cluster, run, warnings } = await startOne(t, ['a']);
      const odd = secret('odd', [reference]);
      if (isThere) cluster.add(odd);
      const fleet = run();
      fleet.onEngage((engaged) => engaged.informer(secrets).synced());
      await fleet.synced();
      const seen = note(fleet, { owns: [secrets] });
      await until(t, () => seen.length === 1);
      if (!isThere) cluster.add(odd);
      await until(t, () => warnings.length > 0);
      cluster.add(secret('good', [{ ...reference, apiVersion: 'v1' }]));
      await until(t, () => seen.length === 2);
      assert.deepEqual(warnings, [
        'reading the owners of Secret default/odd failed: metadata.ownerReferences[0].apiVersion is no text: a transform has to keep it',
      ]);
      assert.equal(fleet.list()[0]?.reason, 'ENGAGED');
    });
  }

  test('since the list is null has none', async (t) => {
    const { cluster, run, warnings } = await startOne(t, ['a']);
    cluster.add(secret('none', null));
    const fleet = run();
    fleet.onEngage((engaged) => engaged.informer(secrets).synced());
    await fleet.synced();
    const seen = note(fleet, { owns: [secrets] });
    await until(t, () => seen.length === 1);
    cluster.add(map('b'));
    await until(t, () => seen.length === 2);
    assert.deepEqual(warnings, []);
  });
});
