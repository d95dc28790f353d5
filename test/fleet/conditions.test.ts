import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { V1Condition } from '@kubernetes/client-node';
import { type Condition, setCondition } from '../../src/fleet/index.ts';

const long = '2020-01-01T00:00:00Z';
const synced: Condition = { type: 'Ready', status: 'True', reason: 'Synced' };
const ready: Condition = { ...synced, message: 'all of 3', observedGeneration: 2, lastTransitionTime: long };
const other: Condition = { type: 'Other', status: 'False', reason: 'Off', lastTransitionTime: long };
const secondsOf = (time: string | undefined) => Math.floor(Date.parse(time ?? '') / 1_000);

describe('setCondition', () => {
  test('adds a condition with the time in whole seconds and an empty message, which CRDs require', () => {
    const before = Math.floor(Date.now() / 1_000);
    for (const none of [undefined, null, []]) {
      const [added, ...rest] = setCondition<Condition>(none, synced);
      assert.deepEqual(rest, []);
      const { lastTransitionTime, ...fields } = added ?? assert.fail();
      assert.deepEqual(fields, { ...synced, message: '' });
      assert.match(lastTransitionTime ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      assert.ok(secondsOf(lastTransitionTime) >= before);
    }
    // Compiles without exactOptionalPropertyTypes.
    const message = undefined as unknown as string;
    assert.equal(setCondition([other], { ...ready, message })[1]?.message, '');
    const later = setCondition([other], ready);
    assert.deepEqual(later, [other, ready]);
  });

  test('returns the same list where nothing has changed, whatever time is given', () => {
    const list = [other, ready];
    const { lastTransitionTime: _, ...same } = ready;
    assert.equal(setCondition(list, same), list);
    assert.equal(setCondition(list, { ...same, lastTransitionTime: '2026-01-01T00:00:00Z' }), list);
    const sparse: Condition[] = [{ type: 'Ready', status: 'True', lastTransitionTime: long }];
    assert.equal(setCondition(sparse, { type: 'Ready', status: 'True', message: '', observedGeneration: 0 }), sparse);
  });

  test('keeps the time while the status stays, and changes neither the list nor its order', () => {
    const list = Object.freeze([Object.freeze(ready), Object.freeze(other)]);
    for (const change of [{ reason: 'Again' }, { message: 'all of 4' }, { observedGeneration: 3 }]) {
      const { lastTransitionTime: _, ...wanted } = { ...ready, ...change };
      assert.deepEqual(setCondition(list, wanted), [{ ...ready, ...change }, other]);
    }
    const { observedGeneration: _, ...without } = ready;
    assert.deepEqual(setCondition(list, without), [without, other]);
  });

  test('changes the time with the status: to the given one, or to the current one', () => {
    const given = '2026-05-01T00:00:00Z';
    const [then] = setCondition([ready], { ...ready, status: 'False', lastTransitionTime: given });
    assert.equal(then?.lastTransitionTime, given);
    const before = Math.floor(Date.now() / 1_000);
    const [now] = setCondition([ready], { type: 'Ready', status: 'Unknown', reason: 'Lost' });
    assert.ok(secondsOf(now?.lastTransitionTime) >= before);
  });

  test('takes the conditions of a model on the wire', () => {
    type OnWire = Omit<V1Condition, 'lastTransitionTime'> & { readonly lastTransitionTime: string };
    const list: readonly OnWire[] = [{ type: 'A', status: 'True', reason: 'X', message: '', lastTransitionTime: long }];
    assert.equal(setCondition(list, { type: 'A', status: 'True', reason: 'X' }), list);
  });
});
