import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { temporaryFolder } from './fixtures/script.ts';

const strict = fileURLToPath(new URL('./fixtures/strict.ts', import.meta.url));

test('a test file that never gives the event loop back is killed, and named', async (t) => {
  const file = join(await temporaryFolder(t), 'endless.test.mjs');
  await writeFile(
    file,
    `import { test } from 'node:test';
     test('quick', () => {});
     test('endless', async () => { for (;;) await undefined; });`,
  );
  const { exitCode, all } = await execa(process.execPath, ['--import', strict, '--test', file], {
    env: { NODE_TEST_CONTEXT: undefined, TEST_PROGRESS_LIMIT_MS: '500' },
    reject: false,
    all: true,
  });
  assert.equal(exitCode, 1);
  assert.match(all, /endless\.test\.mjs: no test has ended for 0\.5 s: killed/);
});
