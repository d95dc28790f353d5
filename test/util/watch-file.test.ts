import assert from 'node:assert/strict';
import { appendFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { settledFile } from '../../src/util/watch-file.ts';
import { temporaryFolder } from '../fixtures/script.ts';

type Step = (path: string) => Promise<void>;
const still: Step = async () => undefined;
const change =
  (file: (path: string, text: string) => Promise<void>) =>
  (text: string): Step =>
  (path) =>
    file(path, text);
const write = change(writeFile);
const append = change(appendFile);
const replace = change(async (path, text) => {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
});

/** What happens before each look, and what the look gives. */
type Story = readonly [string, readonly Step[], readonly (string | undefined)[]];

describe('a watched file', () => {
  for (const [what, steps, expected] of [
    ['is taken at the second look that finds the same', [write('new'), still, still], [undefined, 'new', undefined]],
    ['is taken when it has been replaced', [replace('new'), still, still], [undefined, 'new', undefined]],
    [
      'is not taken while it is being written',
      [write('a'), append('b'), append('c'), still],
      [undefined, undefined, undefined, 'abc'],
    ],
    [
      'is not taken where its second reading is another',
      [write('one'), write('two'), write('one'), still],
      [undefined, undefined, undefined, 'one'],
    ],
    [
      'is not taken where it is emptied, and filled again with what it was',
      [(path) => truncate(path), write('before'), still, still],
      [undefined, undefined, undefined, undefined],
    ],
    [
      'is gone at the second look that does not find it, and is there again',
      [(path) => rm(path), still, still, write('before'), still],
      [undefined, 'ENOENT', undefined, undefined, 'before'],
    ],
    [
      'is not gone while it is being replaced',
      [(path) => rm(path), write('new'), still],
      [undefined, undefined, 'new'],
    ],
  ] as const satisfies readonly Story[]) {
    test(what, async (t) => {
      const path = join(await temporaryFolder(t), 'file');
      await writeFile(path, 'before');
      const look = settledFile(path, 'before');
      for (const [index, step] of steps.entries()) {
        await step(path);
        const reading = await look();
        const seen = reading && ('text' in reading ? reading.text : reading.code);
        assert.equal(seen, expected[index], `look ${index + 1}`);
      }
    });
  }
});
