import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LineCutter } from '../../../src/program/exec/lines.ts';

test('lines are whole, wherever the chunks are cut, in the middle of a character too', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), fc.array(fc.nat(7)), (words, cuts) => {
      const text = words.join('\n');
      const bytes = Buffer.from(text);
      const cutter = new LineCutter();
      const lines: string[] = [];
      let at = 0;
      for (const cut of cuts) {
        lines.push(...cutter.push(bytes.subarray(at, at + cut)));
        at += cut;
      }
      lines.push(...cutter.push(bytes.subarray(at)), ...cutter.end());
      assert.equal(lines.map((line) => `${line}\n`).join(''), text === '' || text.endsWith('\n') ? text : `${text}\n`);
    }),
  );
});

test('a line without an end is not kept for ever', () => {
  const cutter = new LineCutter();
  const lines = Array.from({ length: 10 }, () => cutter.push(Buffer.alloc(20_000, 'x'))).flat();
  assert.ok(lines.length > 1 && [...lines, ...cutter.end()].join('').length === 200_000);
});
