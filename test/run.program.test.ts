import assert from 'node:assert/strict';
import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { ended, temporaryFolder } from './fixtures/script.ts';
import { until } from './fixtures/until.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const good = `import { test } from 'node:test'; test('good', () => {});`;

describe('npm test', () => {
  test('reads the summary of a group whatever the colours of the environment', async (t) => {
    const { exitCode, stdout } = await (await project(t, { 'one/a.test.ts': good, 'b.test.ts': good }))([]);
    assert.match(stdout, /✔ test, one: 2 files, 2 tests/);
    assert.deepEqual([exitCode, /2 tests in \d+ s, 0 of 1 groups failed/.test(stdout)], [0, true]);
  });

  test('has several processes for a folder with many files, one for folders with few, and runs each file once', async (t) => {
    const many = Array.from({ length: 30 }, (_, index) => [`one/${index}.test.ts`, good] as const);
    const files = { ...Object.fromEntries(many), 'two/a.test.ts': good, 'three/a.test.ts': good };
    const { stdout } = await (await project(t, files))([]);
    const groups = [...stdout.matchAll(/✔ (.*): (\d+) files/g)].map(([, names, count]) => `${names}: ${count}`);
    assert.deepEqual(groups.sort(), ['one 1/2, three: 16', 'one 2/2, two: 16']);
    assert.match(stdout, /32 tests in/);
  });

  test('takes no folder that is not there, beside one that is', async (t) => {
    const { exitCode, stderr } = await (await project(t, { 'one/a.test.ts': good }))(['one', 'two', 'one/a.test.ts']);
    assert.equal(exitCode, 1);
    assert.match(stderr, /test\/ has no folder two, one\/a\.test\.ts with tests; npm run test:file runs single files/);
  });

  test('names the signal that killed a group, and shows the end of its stderr', async (t) => {
    const fatal = `
      const lines = Array.from({ length: 4_000 }, (_, line) => 'line ' + line + '\\n');
      process.stderr.write(lines.join(''), () => process.kill(process.pid, 'SIGKILL'));
      await new Promise(() => setInterval(() => {}, 1_000));`;
    const { exitCode, stdout } = await (await project(t, { 'one/a.test.ts': fatal }))([]);
    assert.equal(exitCode, 1);
    assert.match(stdout, /✖ one: 1 files, 0 tests, [\d.]+ s, killed by SIGKILL/);
    assert.deepEqual([stdout.includes('line 3999'), stdout.includes('line 1000\n')], [true, false]);
  });

  test('leaves no group behind when it is told to end', async (t) => {
    const folder = await temporaryFolder(t);
    const pidFile = join(folder, 'pid');
    const endless = `
      import { writeFileSync } from 'node:fs';
      import { test } from 'node:test';
      test('endless', () => { setInterval(() => {}, 1_000); return new Promise(() => {
        writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));
      }); });`;
    const start = await project(t, { 'one/a.test.ts': endless });
    const run = start([]);
    const pid = async () => Number(await readFile(pidFile, 'utf8').catch(() => ''));
    await until(t, async () => (await pid()) > 0);
    run.kill('SIGTERM');
    assert.equal((await run).signal, 'SIGTERM');
    await ended(t, await pid());
  });
});

test('npm run test:file takes a pattern after the file, as CONTRIBUTING writes it', async () => {
  const read = (path: string) => readFile(join(root, path), 'utf8');
  const [, file = ''] = /^npm run test:file -- (\S+) --test-name-pattern /m.exec(await read('CONTRIBUTING.md')) ?? [];
  assert.match(file, /^test\/.*\.test\.ts$/);
  assert.equal(JSON.parse(await read('package.json')).scripts['test:file'], 'node test/run-files.ts');
  const env = { NODE_TEST_CONTEXT: undefined };
  const args = [
    'test/run-files.ts',
    'test/access/glob.test.ts',
    '--test-reporter=tap',
    '--test-name-pattern',
    'no such test',
  ];
  const { stdout } = await execa(process.execPath, args, { cwd: root, env });
  assert.match(stdout, /^# fail 0$/m);
  assert.doesNotMatch(stdout, /matches as the regular expression/, 'one of its tests');
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
