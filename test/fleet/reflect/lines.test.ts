import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lines, linesOf } from '../../../src/fleet/reflect/batches.ts';
import { fc } from '../../fixtures/property.ts';

test('the lines of a watch are whole, however the bytes are cut', () => {
  fc.assert(
    fc.property(fc.array(fc.json()), fc.integer({ min: 1, max: 30 }), fc.nat(4), (events, size, atOnce) => {
      const bytes = Buffer.from(events.map((event) => `${event}\n`).join(''));
      const lines = new Lines();
      const got: string[] = [];
      let pieces: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        pieces.push(bytes.subarray(at, at + size));
        if (pieces.length <= atOnce) continue;
        got.push(...linesOf(lines.push(pieces)));
        pieces = [];
      }
      got.push(...linesOf(lines.push(pieces)));
      assert.deepEqual(got, events);
    }),
  );
});
