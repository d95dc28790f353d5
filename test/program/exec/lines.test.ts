import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LineCutter } from '../../../src/program/exec/lines.ts';

test('lines are whole, wherever the chunks are cut, in the middle of a character too', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), fc.array(fc.nat(7)), (words, cuts) => {
      const text = words.join('\n');
      const bytes = Buffer.from(text);
      const cutter = new LineCutter({ breaksLongLines: true });
      const lines: string[] = [];
      let at = 0;
      for (const cut of cuts) {
        lines.push(...cutter.push(bytes.subarray(at, at + cut)));
        at += cut;
      }
      lines.push(...cutter.push(bytes.subarray(at)), ...cutter.end());
      assert.equal(lines.join(''), text === '' || text.endsWith('\n') ? text : `${text}\n`);
    }),
  );
});

test('a line without an end is not kept for ever', () => {
  const cutter = new LineCutter({ breaksLongLines: true });
  const lines = Array.from({ length: 10 }, () => cutter.push(Buffer.alloc(20_000, 'x'))).flat();
  assert.ok(lines.length > 1 && lines.every((line) => line.endsWith('\n')));
  assert.equal([...lines, ...cutter.end()].join('').replaceAll('\n', '').length, 200_000);
});

test('a line without an end stays one line where its pieces are passed on', () => {
  const cutter = new LineCutter({ breaksLongLines: false });
  const text = `${'x'.repeat(200_000)}\nlast${'y'.repeat(70_000)}`;
  const bytes = Buffer.from(text);
  const starts = Array.from({ length: Math.ceil(bytes.length / 20_000) }, (_, index) => index * 20_000);
  const pieces = starts.flatMap((start) => cutter.push(bytes.subarray(start, start + 20_000)));
  assert.ok(pieces.length > 2);
  assert.equal([...pieces, ...cutter.end()].join(''), `${text}\n`);
  assert.deepEqual(cutter.push(Buffer.alloc(70_000, 'z')).length, 1);
  assert.deepEqual(cutter.end(), ['\n']);
});
