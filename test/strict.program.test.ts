import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { temporaryFolder } from './fixtures/script.ts';

const strict = fileURLToPath(new URL('./fixtures/strict.ts', import.meta.url));

for (const isolation of ['process', 'none']) {
  describe(`a test file, with files in ${isolation === 'none' ? 'one process' : 'processes of their own'},`, () => {
    test('that never gives the event loop back is killed, and named', async (t) => {
      const file = join(await temporaryFolder(t), 'endless.test.mjs');
      await writeFile(
        file,
        `import { test } from 'node:test';
         test('quick', () => {});
         test('endless', async () => { for (;;) await undefined; });`,
      );
      const { failed, all } = await runTests(isolation, file, { TEST_PROGRESS_LIMIT_MS: '500' });
      assert.ok(failed);
      assert.match(all, /endless\.test\.mjs: no test has ended for 0\.5 s: killed/);
    });

    test('that leaves something open behind its last test is killed, and named', async (t) => {
      const file = join(await temporaryFolder(t), 'open.test.mjs');
      await writeFile(
        file,
        `import { createServer } from 'node:net';
         import { test } from 'node:test';
         test('quick', () => { createServer().listen(0); });`,
      );
      const { failed, all } = await runTests(isolation, file, { TEST_EXIT_LIMIT_MS: '500' });
      assert.ok(failed);
      assert.match(all, /open\.test\.mjs: its last test has ended, and something keeps the process for 0\.5 s: killed/);
    });
  });
}

async function runTests(isolation: string, file: string, env: Record<string, string>) {
  const options = ['--import', strict, '--test', `--test-isolation=${isolation}`, file];
  return execa(process.execPath, options, {
    env: { NODE_TEST_CONTEXT: undefined, ...env },
    reject: false,
    all: true,
  });
}
