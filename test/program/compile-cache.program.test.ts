// What V8 has compiled of the program is kept for its next start, where nobody else can write.
import assert from 'node:assert/strict';
import { chmod, chown, mkdir, readdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { programFile } from '../fixtures/program.ts';
import { temporaryFolder } from '../fixtures/script.ts';

/** Its lines on stderr say what Node does with the cache. */
async function start(env: Readonly<Record<string, string>>, cwd = '/'): Promise<string> {
  const settings = { env: { NODE_DEBUG_NATIVE: 'COMPILE_CACHE', ...env }, extendEnv: false, cwd };
  const { stdout, stderr } = await execa(process.execPath, [programFile, 'version', '-o', 'json'], settings);
  assert.match(stdout, /"clusterprofile"/);
  return stderr;
}

describe('the compile cache', () => {
  test("is written by one start and read by the next, in folders that are the user's alone", async (t) => {
    const HOME = await temporaryFolder(t);
    assert.doesNotMatch(await start({ HOME }), /was accepted/);
    const folder = join(HOME, '.cache/clusterprofile');
    for (const path of [folder, join(folder, 'compiled')]) {
      assert.equal(((await stat(path)).mode & 0o777).toString(8), '700', path);
    }
    assert.match(await start({ HOME }), /frame\.js was accepted/);
  });

  for (const [what, open] of [
    ['a folder above, and could put another one in its place', ''],
    ['the cache folder itself', 'cache'],
    ['the folder of the program', 'cache/clusterprofile'],
    ['the folder of the cache', 'cache/clusterprofile/compiled'],
  ] as const) {
    test(`is not used where others may write to ${what}`, async (t) => {
      const above = await temporaryFolder(t);
      const compiled = join(above, 'cache/clusterprofile/compiled');
      await mkdir(compiled, { recursive: true, mode: 0o700 });
      await chmod(join(above, open), 0o770);
      assert.equal(await start({ XDG_CACHE_HOME: join(above, 'cache') }), '');
      assert.deepEqual(await readdir(compiled), []);
    });
  }

  test('is not used below a folder of another user, who could put another one in its place', async (t) => {
    const above = await temporaryFolder(t);
    const compiled = join(above, 'cache/clusterprofile/compiled');
    await mkdir(compiled, { recursive: true, mode: 0o700 });
    const isRoot = process.getuid?.() === 0;
    // Only root can give a folder away; nobody else can make a private one in a folder of another user.
    if (isRoot) await chown(above, 12_345, 0);
    assert.match(
      await start({ XDG_CACHE_HOME: join(above, 'cache') }),
      isRoot ? /^$/ : /creating cache directory .*success/,
    );
    assert.equal((await readdir(compiled)).length > 0, !isRoot);
  });

  test("is used where the user's cache folder is a link to a folder that is private too", async (t) => {
    const [HOME, elsewhere] = [await temporaryFolder(t), await temporaryFolder(t)];
    await symlink(elsewhere, join(HOME, '.cache'));
    await start({ HOME });
    assert.match(await start({ HOME }), /frame\.js was accepted/);
  });

  test('is no matter where there is no home, or none that can be written to', async (t) => {
    const cwd = await temporaryFolder(t);
    for (const HOME of [join(cwd, 'none'), '/proc', '/dev/null', ''])
      assert.equal(await start({ HOME }, cwd), '', HOME);
    assert.deepEqual(await readdir(cwd), []);
  });

  test("is not made in another user's folder, as sudo would", async (t) => {
    const HOME = await temporaryFolder(t);
    await chmod(HOME, 0o777);
    await start({ HOME });
    assert.deepEqual(await readdir(HOME), []);
  });
});
