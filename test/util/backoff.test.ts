import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMs } from '../../src/util/backoff.ts';

test('the backoff is jittered within a quarter, and never longer than 30 s', () => {
  for (const [failures, full] of [
    [1, 1_000],
    [2, 2_000],
    [5, 16_000],
    [6, 30_000],
    [10_000, 30_000],
  ] as const) {
    assert.equal(
      backoffMs(failures, undefined, () => 0),
      full * 0.75,
    );
    assert.equal(
      backoffMs(failures, undefined, () => 1),
      full,
    );
  }
});
