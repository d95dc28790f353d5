import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ownersOf } from '../../../src/fleet/controller/requests.ts';
import type { KubernetesObject } from '../../../src/fleet/kubernetes-object.ts';

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
    [
      'none that does not control',
      [
        { ...owner, controller: false },
        { ...owner, controller: 'true' },
      ],
      0,
    ],
    ['none where there is no list', undefined, 0],
    ['none where the list is null', null, 0],
    ['those that can be read', [null, 5, 'x', {}, { name: 5 }, owner], 1],
  ] as const) {
    test(`are ${what}`, () => {
      assert.deepEqual(ownersIn(references), Array(found).fill({ name: 'web', namespace: 'default' }));
    });
  }

  for (const [references, field] of [
    ['text', 'metadata.ownerReferences is no list'],
    [{ 0: owner }, 'metadata.ownerReferences is no list'],
    [[{ ...owner, apiVersion: undefined }], 'metadata.ownerReferences[0].apiVersion is no text'],
    [[null, { ...owner, kind: null }], 'metadata.ownerReferences[1].kind is no text'],
    [[{ ...owner, name: 5 }], 'metadata.ownerReferences[0].name is no text'],
  ] as const) {
    test(`cannot be read, with the field: ${field}`, () => {
      assert.throws(
        () => ownersIn(references),
        (error: TypeError) => error.message.startsWith(field),
      );
    });
  }
});
