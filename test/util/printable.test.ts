import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { printable } from '../../src/util/printable.ts';
import { anyText } from '../fixtures/any-text.ts';
import { fc } from '../fixtures/property.ts';

describe('text of somebody else in a message', () => {
  test('is one line, and writes nothing to a terminal', () => {
    assert.equal(
      printable('a\n\u001b[2J\u009b\u202e\u2028\0', 1_000),
      'a\\u000a\\u001b[2J\\u009b\\u202e\\u2028\\u0000',
    );
    assert.equal(printable('\u{e0041}\ud800', 1_000), '\\u{e0041}\\ud800');
    assert.equal(printable('Bücher für "Köln" 日本 \u{1f600}', 1_000), 'Bücher für "Köln" 日本 \u{1f600}');
  });

  test('is short: of a long one the beginning and the end are left', () => {
    assert.equal(printable('x'.repeat(100), 100), 'x'.repeat(100));
    assert.match(printable(`begin${'x'.repeat(1_000_000)}end`, 4_096), /^beginx+ \[…\] x+end$/);
  });

  test('whatever it is', () => {
    const text = anyText({ maxLength: 300 }).filter((any) => !any.includes('\uFFFD'));
    fc.assert(
      fc.property(text, fc.integer({ min: 20, max: 300 }), (given, limit) => {
        const shown = printable(given, limit);
        assert.ok(Buffer.byteLength(shown) <= limit);
        assert.ok(!/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\uFFFD]/u.test(shown), JSON.stringify(shown));
      }),
    );
  });
});
