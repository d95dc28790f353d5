import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFile, chmod, copyFile, readFile, rename, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { execa } from 'execa';
import { openPinnedFile } from '../../src/exec/executable.ts';
import { runProcess } from '../../src/exec/process.ts';
import type { CredentialProvidersOptions } from '../../src/index.ts';
import { startProviders } from '../fixtures/fleet.ts';
import { print, setEnvironment, shellPlugin, temporaryFolder } from '../fixtures/script.ts';

const digestOf = async (path: string) =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
const onLinux = process.platform === 'linux';

/** A config whose plugin is pinned, or is not. */
function configOf(t: TestContext, command: string, allowlist: readonly object[], args: readonly string[] = []) {
  // The type of an entry is checked at construction.
  const options = { pluginPolicy: { policyType: 'Allowlist', allowlist } } as CredentialProvidersOptions;
  const profile = { status: { accessProviders: [{ name: 'fake', cluster: { server: 'https://h' } }] } };
  return startProviders(t, { command }, options, { execConfig: { args } }).getConfig(profile);
}

describe('a plugin that is pinned to a digest', () => {
  test('runs where it is the file that was meant, a script and a binary, by its path, its name and a link', async (t) => {
    const script = await shellPlugin(t, `echo "$0" > "$DIR/name"\n${print({ token: 't' })}`);
    const sha256 = await digestOf(script.command);
    await configOf(t, script.command, [{ command: script.command, sha256 }]).ready();
    await configOf(t, script.command, [{ command: script.command, sha256: sha256.toUpperCase() }]).ready();
    const link = join(script.folder, 'link');
    await symlink('plugin', link);
    await configOf(t, link, [{ command: link, sha256 }]).ready();
    if (onLinux) assert.match(await readFile(join(script.folder, 'name'), 'utf8'), /fd\/3$/m, 'the open file is run');
    setEnvironment(t, { PATH: `${script.folder}:${process.env.PATH}` });
    await configOf(t, 'plugin', [{ command: 'plugin', sha256 }]).ready();
    const { stdout: printf } = await execa('sh', ['-c', 'command -v env']);
    const binary = join(script.folder, 'binary');
    await copyFile(printf, binary);
    await chmod(binary, 0o755);
    const answer = JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', status: { token: 't' } });
    const allowlist = [{ command: binary, sha256: await digestOf(binary) }];
    await configOf(t, binary, allowlist, ['sh', '-c', `printf '%s' '${answer}'`]).ready();
  });

  test('is not run where it is another file, and the error says both digests; it may have several, for the time of an upgrade', async (t) => {
    const plugin = await shellPlugin(t, print({ token: 't' }));
    const sha256 = await digestOf(plugin.command);
    await appendFile(plugin.command, '# changed\n');
    const pinned = { command: plugin.command, sha256 };
    const config = configOf(t, plugin.command, [pinned]);
    const changed = await digestOf(plugin.command);
    await assert.rejects(config.ready(), { code: 'PLUGIN_NOT_ALLOWED', message: new RegExp(`${changed}.*${sha256}`) });
    assert.equal(await plugin.runs(), 0);
    await configOf(t, plugin.command, [pinned, { ...pinned, sha256: changed }]).ready();
  });

  test('is looked at before each run: also where it changes without a trace in its size and time of writing', async (t) => {
    const plugin = await shellPlugin(t, `${print({ token: 't' })}\n# one`);
    const config = configOf(t, plugin.command, [{ command: plugin.command, sha256: await digestOf(plugin.command) }]);
    await utimes(plugin.command, 1_000, 1_000);
    await config.ready();
    const text = await readFile(plugin.command, 'utf8');
    await writeFile(plugin.command, text.replace('# one', '# two'));
    await utimes(plugin.command, 1_000, 1_000);
    config.invalidate();
    await assert.rejects(config.ready(), { code: 'PLUGIN_NOT_ALLOWED' });
    assert.equal(await plugin.runs(), 1);
  });

  test('is refused where it cannot be read, or is no file', async (t) => {
    const folder = await temporaryFolder(t);
    const pipe = join(folder, 'pipe');
    await execa('mkfifo', ['-m', '755', pipe]);
    const config = configOf(t, pipe, [{ command: pipe, sha256: '0'.repeat(64) }]);
    await assert.rejects(config.ready(), { code: 'PLUGIN_NOT_ALLOWED', message: /cannot be read, so its SHA-256/ });
  });

  test('is what runs, where another file takes its place after it was hashed', async (t) => {
    const folder = await temporaryFolder(t);
    const [path, evil] = [join(folder, 'plugin'), join(folder, 'evil')];
    const { stdout: env } = await execa('sh', ['-c', 'command -v env']);
    for (const [good, args] of [
      ['#!/bin/sh\necho good', []],
      [await readFile(env), ['echo', 'good']],
    ] as const) {
      await writeFile(path, good, { mode: 0o755 });
      await writeFile(evil, '#!/bin/sh\necho evil', { mode: 0o755 });
      const { handle } = await openPinnedFile(path);
      t.after(() => handle.close());
      // Only Linux executes open files.
      if (!onLinux) return;
      await rename(evil, path);
      const ended = await runProcess(path, {
        args,
        env: { PATH: process.env.PATH ?? '' },
        timeoutMs: 20_000,
        maxBytes: 1_000,
        stop: new AbortController().signal,
        descriptor: handle.fd,
      });
      assert.equal(ended.stdout, 'good', ended.stderr);
    }
  });

  for (const [allowlist, message] of [
    [[{ command: 'a', sha256: 'abc' }], /allowlist\[0\]\.sha256: must be the SHA-256 of the file, 64 hexadecimal dig/],
    [[{ command: 'a', sha256: 1 }], /allowlist\[0\]\.sha256: must be the SHA-256/],
    [
      [{ command: 'a' }, { command: 'a', sha256: '0'.repeat(64) }],
      /allowlist\[0\]: lets any file be a, which another entry pins/,
    ],
  ] as const) {
    test(`is not said by ${JSON.stringify(allowlist).slice(0, 60)}`, (t) => {
      assert.throws(() => configOf(t, 'a', allowlist), { name: 'ConfigurationError', message });
    });
  }
});
