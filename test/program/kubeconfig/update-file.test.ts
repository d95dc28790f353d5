import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, lstat, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Failure } from '../../../src/program/failure.ts';
import { updateFile } from '../../../src/program/kubeconfig/update-file.ts';
import { temporaryFolder } from '../../fixtures/script.ts';

const { signal } = new AbortController();
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

describe('a file that is changed', () => {
  test('keeps its mode; a new one is for its owner alone, as are the folders above it', async (t) => {
    const folder = await temporaryFolder(t);
    const [old, fresh] = [join(folder, 'old'), join(folder, 'a', 'b', 'config')];
    await writeFile(old, 'one\n');
    await chmod(old, 0o640);
    await updateFile(old, signal, (text) => `${text}two\n`);
    await updateFile(fresh, signal, (text) => String(text));
    assert.deepEqual([await readFile(old, 'utf8'), await modeOf(old)], ['one\ntwo\n', '640']);
    assert.deepEqual(
      [await readFile(fresh, 'utf8'), await modeOf(fresh), await modeOf(join(folder, 'a'))],
      ['undefined', '600', '700'],
    );
    assert.deepEqual((await readdir(folder)).sort(), ['a', 'old']);
  });

  test('is the one behind symbolic links, and the links stay', async (t) => {
    const folder = await temporaryFolder(t);
    await mkdir(join(folder, 'real'));
    await writeFile(join(folder, 'real', 'config'), 'one\n');
    await symlink('real/config', join(folder, 'first'));
    await symlink('first', join(folder, 'second'));
    await updateFile(join(folder, 'second'), signal, (text) => `${text}two\n`);
    assert.equal(await readFile(join(folder, 'real', 'config'), 'utf8'), 'one\ntwo\n');
    assert.deepEqual((await readdir(folder)).sort(), ['first', 'real', 'second']);
    assert.ok((await lstat(join(folder, 'second'))).isSymbolicLink());
  });

  test('loses nothing of many changes at once, and nobody ever reads half of one', async (t) => {
    const path = join(await temporaryFolder(t), 'config');
    const line = `${'x'.repeat(10_000)}\n`;
    await writeFile(path, '');
    const seen = new Set<number>();
    const changes = Array.from({ length: 8 }, () =>
      updateFile(path, signal, (text) => `${text}${line}`, { lockMs: 60_000 }),
    );
    const all = Promise.all(changes).then(() => true);
    while (
      !(await Promise.race([all, readFile(path, 'utf8').then((text) => void seen.add(text.length % line.length))]))
    ) {
      // Until all have been made.
    }
    const last = await readFile(path, 'utf8');
    assert.deepEqual([...seen.add(last.length % line.length)], [0]);
    assert.equal(last.length, 8 * line.length);
  });

  test('stays as it was where the change throws, and nothing is left beside it', async (t) => {
    const folder = await temporaryFolder(t);
    const path = join(folder, 'config');
    await writeFile(path, 'one\n');
    const change = updateFile(path, signal, () => {
      throw new Error('no');
    });
    await assert.rejects(change, /^Error: no$/);
    assert.equal(await readFile(path, 'utf8'), 'one\n');
    assert.deepEqual(await readdir(folder), ['config']);
    await assert.rejects(
      updateFile(folder, signal, () => 'x'),
      Failure,
    );
  });
});

test('a file that is not UTF-8 is refused, and stays byte by byte; a byte order mark is kept', async (t) => {
  const path = join(await temporaryFolder(t), 'config');
  const latin1 = Buffer.from('# Gr\u00fc\u00dfe\n', 'latin1');
  await writeFile(path, latin1);
  await assert.rejects(
    updateFile(path, signal, (text) => `${text}two\n`),
    (error) => error instanceof Failure && error.message === `${path} is not UTF-8: convert it to UTF-8`,
  );
  assert.deepEqual(await readFile(path), latin1);
  await writeFile(path, '\ufeffone\n');
  await updateFile(path, signal, (text) => `${text}two\n`);
  assert.equal(await readFile(path, 'utf8'), '\ufeffone\ntwo\n');
});

describe("kubectl's lock", () => {
  test('is waited for, and the file is read after that', async (t) => {
    const path = join(await temporaryFolder(t), 'config');
    await writeFile(`${path}.lock`, '');
    const change = updateFile(path, signal, (text) => `${text}two\n`, { lockMs: 60_000 });
    await writeFile(path, 'one\n');
    await rm(`${path}.lock`);
    await change;
    assert.equal(await readFile(path, 'utf8'), 'one\ntwo\n');
  });

  test('is not held while the change is made, which is made once where the file stays the same', async (t) => {
    const path = join(await temporaryFolder(t), 'config');
    await writeFile(path, 'one\n');
    const seen: (readonly [string | undefined, boolean])[] = [];
    const update = (text: string | undefined) => {
      seen.push([text, existsSync(`${path}.lock`)]);
      return `${text}two\n`;
    };
    await updateFile(path, signal, update);
    assert.deepEqual(seen, [['one\n', false]]);
    await writeFile(`${path}.lock`, '');
    const change = updateFile(path, signal, update, { lockMs: 60_000 });
    await writeFile(path, 'other\n');
    await rm(`${path}.lock`);
    await change;
    assert.deepEqual(seen.slice(1), [
      ['one\ntwo\n', true],
      ['other\n', true],
    ]);
    assert.equal(await readFile(path, 'utf8'), 'other\ntwo\n');
  });

  test('that stays is named, and stays', async (t) => {
    const folder = await temporaryFolder(t);
    const path = join(folder, 'config');
    await writeFile(`${path}.lock`, '');
    await assert.rejects(
      updateFile(path, signal, () => 'x', { lockMs: 1 }),
      (error) => error instanceof Failure && error.message.endsWith(`remove ${path}.lock`),
    );
    assert.deepEqual(await readdir(folder), ['config.lock']);
    const stop = AbortSignal.abort(new Error('interrupted'));
    await assert.rejects(
      updateFile(path, stop, () => 'x'),
      /interrupted/,
    );
  });
});
