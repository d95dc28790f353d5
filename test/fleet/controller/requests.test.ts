import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ownersOf } from '../../../src/fleet/controller/requests.ts';
import type { KubernetesObject } from '../../../src/rest/api/kubernetes-object.ts';

const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u', controller: true };
const ownersIn = (ownerReferences: unknown) => {
  const metadata = { name: 'x', namespace: 'default', uid: 'u', resourceVersion: '1', ownerReferences };
  // A server may send, and a transform may leave, anything.
  const object = { apiVersion: 'v1', kind: 'Pod', metadata } as unknown as KubernetesObject;
  return ownersOf(object, { apiVersion: 'apps/v1beta1', kind: 'Deployment' }, true);
};

describe('the owners of an object', () => {
  for (const [what, references, found] of [
    ['the controlling one, of any version', [owner], 1],
    ['none that is of another group', [{ ...owner, apiVersion: 'v1' }], 0],
    ['none that does not control', [{ ...owner, controller: false }], 0],
    ['none where there is no list', undefined, 0],
    ['none where the list is null', null, 0],
  ] as const) {
    test(`are ${what}`, () => {
      assert.deepEqual(ownersIn(references), Array(found).fill({ name: 'web', namespace: 'default' }));
    });
  }
});
