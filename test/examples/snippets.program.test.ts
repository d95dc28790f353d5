import assert from 'node:assert/strict';
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { blocks, pages, root } from '../fixtures/docs.ts';

test('the docs have TypeScript snippets that compile, and tests that pass', async (t) => {
  // Inside the package, so that they can import it by name; it has been built before the tests.
  const folder = mkdtempSync(join(root, 'dist/docs-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const snippets = pages.flatMap((page) => blocks(page, 'ts').map((code) => ({ page, code })));
  assert.ok(snippets.length >= 10, `${snippets.length}`);
  for (const [index, { page, code }] of snippets.entries()) {
    assert.doesNotMatch(code, /^\s*await using/m, `${page}: Node 22 has no such statement`);
    writeFileSync(join(folder, `${page.replaceAll(/\W/g, '-')}-${index}.ts`), code);
  }
  // Without the paths of the base: readers compile against what is published.
  const config = { extends: '../../tsconfig.json', compilerOptions: { paths: {} }, include: ['*.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const { stdout, exitCode } = await execa('tsc', ['-p', folder], { preferLocal: true, localDir: root, reject: false });
  assert.equal(exitCode, 0, stdout);
  // What a page shows as a test passes.
  const tests = globSync('*.ts', { cwd: folder }).filter((name) => name.startsWith('docs-testing-md'));
  assert.equal(tests.length, 2);
  const env = { NODE_TEST_CONTEXT: undefined };
  for (const name of tests) await execa(process.execPath, [join(folder, name)], { env });
});
