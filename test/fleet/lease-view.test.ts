import assert from 'node:assert/strict';
import { test } from 'node:test';
import { believedMs } from '../../src/fleet/lease/lease-view.ts';

test('a Lease is believed for the duration that it says, from the own duration to twice as much', () => {
  const own = 30_000;
  const rows = [
    [undefined, own],
    [1, own],
    [own, own],
    [45_000, 45_000],
    [2 * own, 2 * own],
    [2 ** 31 * 1_000, 2 * own],
  ] as const;
  for (const [said, believed] of rows) assert.equal(believedMs(said, own), believed, String(said));
});
