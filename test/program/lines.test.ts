import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wholeLines } from '../../src/program/verbs/exec.ts';
import { fc } from '../fixtures/property.ts';

async function* chunksOf(bytes: Buffer, cuts: readonly number[]) {
  let at = 0;
  for (const cut of [...cuts, bytes.length]) {
    yield bytes.subarray(at, at + cut);
    at += cut;
  }
}

test('lines are whole, wherever the chunks are cut, in the middle of a character too', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ unit: 'grapheme' })), fc.array(fc.nat(7)), async (words, cuts) => {
      const text = words.join('\n');
      const texts: string[] = [];
      for await (const lines of wholeLines(chunksOf(Buffer.from(text), cuts))) texts.push(lines);
      assert.equal(texts.join(''), text === '' || text.endsWith('\n') ? text : `${text}\n`);
      assert.ok(texts.every((one) => one.endsWith('\n')));
    }),
  );
});
