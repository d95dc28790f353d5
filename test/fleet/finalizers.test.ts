import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { V1ConfigMap } from '@kubernetes/client-node';
import { addFinalizer, removeFinalizer } from '../../src/fleet/index.ts';

const ours = 'example.dev/cleanup';
const frozen = (finalizers?: readonly string[]) =>
  Object.freeze({
    kind: 'X',
    metadata: Object.freeze({ name: 'a', ...(finalizers ? { finalizers: Object.freeze(finalizers) } : {}) }),
  });

describe('a finalizer', () => {
  test('is added after the others, in a copy', () => {
    assert.deepEqual(addFinalizer(frozen(), ours), { kind: 'X', metadata: { name: 'a', finalizers: [ours] } });
    assert.deepEqual(addFinalizer(frozen(['other']), ours).metadata.finalizers, ['other', ours]);
    const model: V1ConfigMap = { data: {} };
    assert.deepEqual(addFinalizer(model, ours), { data: {}, metadata: { finalizers: [ours] } });
  });

  test('is removed, in a copy, however often it is there', () => {
    const removed = removeFinalizer(frozen([ours, 'other', ours]), ours);
    assert.deepEqual(removed, { kind: 'X', metadata: { name: 'a', finalizers: ['other'] } });
    assert.deepEqual(removeFinalizer(frozen([ours]), ours).metadata.finalizers, []);
  });

  test('that is there already, or not there, leaves the object as it is', () => {
    const [has, hasNot] = [frozen([ours]), frozen()];
    assert.equal(addFinalizer(has, ours), has);
    assert.equal(removeFinalizer(hasNot, ours), hasNot);
    const model: V1ConfigMap = {};
    assert.equal(removeFinalizer(model, ours), model);
  });
});
