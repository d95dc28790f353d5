import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { heapLimitOf, ListSize } from '../../../src/fleet/informer/list-size.ts';

const full = () => 0.9;

/** Lists under way, which end with the test. */
function start(t: TestContext, count: number, use?: () => number): readonly ListSize[] {
  const sizes = Array.from({ length: count }, () => new ListSize({}, use));
  t.after(() => {
    for (const size of sizes) size.end();
  });
  return sizes;
}

const isTooLarge = { code: 'LIST_TOO_LARGE' };

describe('without limits of its own', () => {
  test('a list may be of any size while there is memory: its objects may be transformed to almost nothing', (t) => {
    const [size] = start(t, 1, () => 0.5);
    for (let page = 0; page < 10_000; page++) size?.add(500, 1_500_000);
  });

  test('the largest list under way ends when memory is short, and the others go on', (t) => {
    const [large, ...others] = start(t, 4, full);
    assert.throws(() => large?.add(1_000, 1e12), isTooLarge);
    large?.end();
    // What it leaves behind is garbage, which is not collected at once.
    for (const other of others) other.add(1_000, 1_100_000);
  });

  test('the next one ends when memory is still short after more has come', (t) => {
    const [one, two] = start(t, 2, full);
    assert.throws(() => one?.add(1_000, 1e12), isTooLarge);
    one?.end();
    assert.throws(() => two?.add(1_000, 1e12), /the memory of this process is nearly used up/);
  });
});

test('a list with a limit of its own ends there, however much memory there is or is not', (t) => {
  const sizes = [new ListSize({ maxBytes: 1_000 }, full), new ListSize({ maxObjects: 10 }, () => 0)];
  t.after(() => {
    for (const size of sizes) size.end();
  });
  const [bytes, objects] = sizes;
  bytes?.add(1_000_000, 1_000);
  assert.throws(() => bytes?.add(0, 1), /maxBytes is 1000: ask for fewer/);
  objects?.add(10, 1e12);
  assert.throws(() => objects?.add(1, 1), /maxObjects is 10: ask for fewer/);
});

test('lists may fill the heap of old objects, which is what V8 allows without its young generation', () => {
  const MiB = 1024 * 1024;
  // What V8 says with --max-old-space-size=256, alone and with these options.
  assert.equal(heapLimitOf(448 * MiB, ''), 256 * MiB);
  assert.equal(heapLimitOf(268 * MiB, '--max-semi-space-size=4'), 256 * MiB);
  assert.equal(heapLimitOf(304 * MiB, '--max_semi_space_size 16 --no-warnings'), 256 * MiB);
  assert.equal(heapLimitOf(200 * MiB, ''), 100 * MiB);
});
