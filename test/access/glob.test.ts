import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createGlob } from '../../src/access/url-pattern.ts';
import { fc } from '../fixtures/property.ts';

describe('a pattern with stars', () => {
  test('matches as the regular expression of the same meaning does', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '*', '\n', '.'), maxLength: 8 });
    fc.assert(
      fc.property(letters, letters, (pattern, text) => {
        const parts = pattern.split('*').map((part) => part.replaceAll('.', '\\.'));
        assert.equal(createGlob(pattern)(text), new RegExp(`^${parts.join('.*')}$`, 's').test(text));
      }),
      { numRuns: 5_000 },
    );
  });

  test('takes no longer for many stars: a text of 128 KiB that nearly matches is refused, not waited for', () => {
    const text = '/'.repeat(131_072);
    assert.equal(createGlob('--scope=*/*/*/get')(`--scope=${text}`), false);
    assert.equal(createGlob(`${'*/'.repeat(40)}get`)(text), false);
    assert.equal(createGlob(`${'*a*'.repeat(40)}b`)('a'.repeat(131_072)), false);
  });
});
