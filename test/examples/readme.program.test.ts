import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { blocks, prose, root } from '../fixtures/docs.ts';

describe('the README', () => {
  test('has a first program that works after npm init -y, in the file and with the command that it names', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'first-program-'));
    t.after(() => rmSync(folder, { recursive: true }));
    await execa('npm', ['init', '-y'], {
      cwd: folder,
      env: { npm_config_offline: 'true', npm_config_update_notifier: 'false' },
    });
    // What npm install would put there. It has been built before the tests.
    mkdirSync(join(folder, 'node_modules'));
    const { name } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    symlinkSync(root, join(folder, 'node_modules', name));
    symlinkSync(join(root, 'node_modules/@kubernetes'), join(folder, 'node_modules/@kubernetes'));

    const [install = '', run = ''] = blocks('README.md', 'sh');
    assert.match(install, new RegExp(`^npm init -y\\nnpm install ${name} @kubernetes/client-node$`, 'm'));
    const [, file = ''] = /^node (\S+)$/m.exec(run) ?? [];
    assert.ok(prose('README.md').includes(`Save this as \`${file}\``), file);
    writeFileSync(join(folder, file), blocks('README.md', 'js')[0] ?? '');
    const { stdout } = await execa(process.execPath, [file], { cwd: folder });
    assert.equal(stdout, "[ 'default', 'kube-system' ]");
    assert.ok(prose('README.md').includes(`It prints \`${stdout}\``));
  });
});
