import assert from 'node:assert/strict';
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { temporaryFolder } from './fixtures/script.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const good = `import { test } from 'node:test'; test('good', () => {});`;

describe('npm test', () => {
  test('takes no folder that is not there, beside one that is', async (t) => {
    const { exitCode, stderr } = await (await project(t, { 'one/a.test.ts': good }))(['one', 'two', 'one/a.test.ts']);
    assert.equal(exitCode, 1);
    assert.match(stderr, /test\/ has no folder two, one\/a\.test\.ts with tests; npm run test:file runs single files/);
  });

  test('names the signal that killed a group, and shows what had failed and the end of its output', async (t) => {
    const fatal = `
      import { test } from 'node:test';
      const lines = Array.from({ length: 4_000 }, (_, line) => 'line ' + line + '\\n');
      test('at fault', () => Promise.reject(new Error('no')));
      for (let index = 0; index < 400; index += 1) test('one of many ' + index, () => {});
      test('die', () => process.stderr.write(lines.join(''), () => process.kill(process.pid, 'SIGKILL')));
      test('wait', () => new Promise(() => setInterval(() => {}, 1_000)));`;
    const { exitCode, stdout } = await (await project(t, { 'one/a.test.ts': fatal }))([]);
    assert.equal(exitCode, 1);
    assert.match(stdout, /✖ one: 1 files, 0 tests, [\d.]+ s, killed by SIGKILL/);
    assert.match(stdout, /✖ at fault/);
    assert.deepEqual([stdout.includes('line 3999'), stdout.includes('line 1000\n')], [true, false]);
  });
});

/** A project with our runner and these files in `test`. */
async function project(t: TestContext, files: Readonly<Record<string, string>>) {
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'test/fixtures'), { recursive: true });
  for (const name of ['package.json', 'test/run.ts', 'test/fixtures/strict.ts']) {
    await copyFile(join(root, name), join(folder, name));
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(folder, 'test', name, '..'), { recursive: true });
    await writeFile(join(folder, 'test', name), text);
  }
  const env = { FORCE_COLOR: '1', NODE_TEST_CONTEXT: undefined };
  return (args: readonly string[]) =>
    execa(process.execPath, [join(folder, 'test/run.ts'), ...args], { cwd: folder, env, reject: false });
}
