import assert from 'node:assert/strict';
import { test } from 'node:test';
import { believedMs, longestLeaseMs } from '../../../src/fleet/sharding/timing.ts';

test('a Lease is believed for the duration that it says, within what replicas can have', () => {
  const own = 30_000;
  const rows = [
    [undefined, own],
    [1, own],
    [own, own],
    [45_000, 45_000],
    [longestLeaseMs, longestLeaseMs],
    [longestLeaseMs + 1, longestLeaseMs],
    [Number.MAX_VALUE, longestLeaseMs],
  ] as const;
  for (const [said, believed] of rows) assert.equal(believedMs(said, own), believed, String(said));
});
