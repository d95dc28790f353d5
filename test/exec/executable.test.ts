import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { temporaryFolder } from '../fixtures/script.ts';

// Root may enter every folder: so it becomes nobody, after it has loaded what it needs.
const program = `
  const { findExecutable } = await import(${JSON.stringify(import.meta.resolve('../../src/exec/executable.ts'))});
  if (process.getuid() === 0) process.setuid(65534);
  const [command, path] = process.argv.slice(1);
  console.log(JSON.stringify(await findExecutable(command, path)));`;

async function find(command: string, path: string): Promise<unknown> {
  const { stdout } = await execa(process.execPath, ['--input-type=module', '-e', program, '--', command, path]);
  return JSON.parse(stdout);
}

test('a folder of PATH that may not be entered is passed over, and a path through one is out of reach', async (t) => {
  const folder = await temporaryFolder(t);
  await chmod(folder, 0o755);
  const [closed, open] = [join(folder, 'closed'), join(folder, 'open')];
  for (const path of [closed, open]) {
    await mkdir(path, { mode: 0o755 });
    await writeFile(join(path, 'plugin'), '#!/bin/sh\n');
    await chmod(join(path, 'plugin'), 0o755);
  }
  await chmod(closed, 0o600);
  const [found, passed, refused] = await Promise.all([
    find('plugin', `${closed}:${open}`),
    find('plugin', closed),
    find(join(closed, 'plugin'), ''),
  ]);
  // Else the folder could not be removed.
  await chmod(closed, 0o700);
  assert.deepEqual(found, { path: join(open, 'plugin') });
  assert.deepEqual(passed, { path: 'plugin', problem: 'missing' });
  assert.deepEqual(refused, { path: join(closed, 'plugin'), problem: 'out of reach' });
});
