import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startQueue } from '../../fixtures/work-queue.ts';

describe('an item', () => {
  test('that fails comes back after 5 ms, doubling to 1,000 s, and begins again after a success', () => {
    const { clusterQueue, clock, take, queue } = startQueue();
    clusterQueue('a').add('x');
    for (let failures = 1; failures < 25; failures++) {
      take().done({ failed: true });
      assert.equal(queue.take(), undefined);
      const ms = Math.min(1_000_000, 5 * 2 ** (failures - 1));
      assert.deepEqual(clock.waits, [ms]);
      clock.advance(ms);
    }
    take().done({ requeueAfterMs: 60_000 });
    assert.deepEqual(clock.waits, [60_000]);
    clock.advance(60_000);
    take().done({ failed: true });
    assert.deepEqual(clock.waits, [5]);
  });

  test('that waits for its next try is worked on at once when it changes', () => {
    const { clusterQueue, clock, take, drain } = startQueue();
    const { add } = clusterQueue('a');
    add('x');
    take().done({ failed: true });
    add('x');
    assert.deepEqual(clock.waits, []);
    assert.deepEqual(drain(), ['a/x']);
  });

  test('that is wanted again at two times is so at the first of them', () => {
    const { clusterQueue, clock, take, drain } = startQueue();
    const { add } = clusterQueue('a');
    for (const requeueAfterMs of [60_000, 90_000, 20_000]) {
      add('x');
      take().done({ requeueAfterMs });
    }
    clock.advance(19_999);
    assert.deepEqual(drain(), []);
    clock.advance(1);
    assert.deepEqual(drain(), ['a/x']);
    assert.deepEqual(clock.waits, []);
  });

  test('that is wanted again and fails meanwhile is tried again, not before its failure says so, and forgets neither', () => {
    const { clusterQueue, clock, take } = startQueue();
    const { add } = clusterQueue('a');
    add('x');
    take().done({ requeueAfterMs: 60_000 });
    add('x');
    take().done({ failed: true, atLeastMs: 100_000 });
    assert.deepEqual(clock.waits, [60_000, 100_000]);
    clock.advance(60_000);
    take().done({});
    assert.deepEqual(clock.waits, []);
  });
});
