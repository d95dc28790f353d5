import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { execa } from 'execa';
import { permissionFor, pluginFileProblem } from '../../src/exec/executable.ts';
import { CredentialProviders, type CredentialProvidersOptions } from '../../src/index.ts';
import { startProviders } from '../fixtures/fleet.ts';
import { load } from '../fixtures/kubeconfigs.ts';
import { print, shellPlugin, temporaryFolder } from '../fixtures/script.ts';

const profile = { status: { accessProviders: [{ name: 'fake', cluster: { server: 'https://h' } }] } };

/** Two folders with a plugin `plug` in each, both in PATH, `bin` first. */
async function twoFolders(t: TestContext) {
  const folder = await temporaryFolder(t);
  for (const name of ['bin', 'bin2']) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'plug'), '#!/bin/sh\n', { mode: 0o755 });
  }
  return { bin: join(folder, 'bin/plug'), bin2: join(folder, 'bin2/plug'), path: `${folder}/bin:${folder}/bin2` };
}

describe('the plugin allowlist (K.94, K.95)', () => {
  test('compares the path that is found, not the name', async (t) => {
    const { bin, bin2, path } = await twoFolders(t);
    const allowed = async (command: string, ...entries: string[]) => {
      const allowlist = entries.map((entry) => ({ command: entry }));
      return !('refusal' in (await permissionFor({ policyType: 'Allowlist', allowlist }, command, path)));
    };
    assert.ok(await allowed('plug', 'plug'));
    assert.ok(await allowed('plug', bin));
    assert.ok(!(await allowed('plug', bin2)));
    assert.ok(await allowed(bin, 'plug'));
    assert.ok(!(await allowed(bin2, 'plug')));
    assert.ok(await allowed(bin2, 'plug', bin2));
    assert.ok(await allowed(`${bin}/../plug`, bin));
    assert.ok(!(await allowed('other', 'plug')));
    assert.ok(!(await allowed('bin/plug', 'plug', bin)), 'relative to the working directory');
    assert.ok(!(await allowed('./plug', 'plug', bin)));
    assert.ok(await allowed('nosuch', 'nosuch'), 'K.96: allowed, and then not found');
    assert.ok(!(await allowed('nosuch', 'plug')));
    assert.ok(!(await allowed('plug')));
  });

  test('refuses before the run, with an error of its own, for profiles and for kubeconfigs', async (t) => {
    const plugin = await shellPlugin(t, print({ token: 't' }));
    const refused = async (options: CredentialProvidersOptions) => {
      for (const config of [
        startProviders(t, plugin, options).getConfig(profile),
        load(t, { exec: { command: plugin.command } }, options),
      ]) {
        const refusal = { name: 'PluginError', code: 'PLUGIN_NOT_ALLOWED', message: /may not be run: / };
        await assert.rejects(config.ready(), refusal);
        await config.close();
      }
    };
    const allowlist = [{ command: '/bin/true' }, { command: 'x' }];
    await refused({ pluginPolicy: { policyType: 'DenyAll' } });
    await refused({ pluginPolicy: { policyType: 'Allowlist', allowlist } });
    assert.equal(await plugin.runs(), 0);
  });

  for (const [pluginPolicy, message] of [
    [{ policyType: 'allowall' }, /pluginPolicy\.policyType: must be one of AllowAll, DenyAll, Allowlist/],
    [{ policyType: 'Allowlist' }, /pluginPolicy\.allowlist: is missing/],
    [{ policyType: 'Allowlist', allowlist: [] }, /is missing or empty: .*DenyAll/],
    [{ policyType: 'DenyAll', allowlist: [] }, /does nothing with DenyAll: .*Allowlist/],
    [{ policyType: 'Allowlist', allowlist: [{ command: '' }] }, /allowlist\[0\]\.command: is empty/],
    [{ policyType: 'Allowlist', allowlist: [{ command: './a' }] }, /is a relative path/],
    [{ policyType: 'Allowlist', allowlist: [{ command: '/x,/y' }] }, /a comma: make each plugin an entry of its own/],
    [{ policyType: 'Allowlist', allowlist: [{ command: '/a//b' }] }, /write \/a\/b/],
    [{ policyType: 'Allowlist', allowlist: [{ command: '/a/' }] }, /write \/a$/],
  ] as const) {
    test(`is validated at construction (K.92): ${JSON.stringify(pluginPolicy)}`, () => {
      // @ts-expect-error some of these are no policies
      const options: CredentialProvidersOptions = { pluginPolicy };
      const refusal = { name: 'ConfigurationError', code: 'OPTION_INVALID', message };
      assert.throws(() => new CredentialProviders([], options), refusal);
    });
  }
});

describe('a plugin that somebody else can replace', () => {
  async function plugin(t: TestContext) {
    const folder = await temporaryFolder(t);
    await mkdir(join(folder, 'a/b'), { recursive: true });
    const file = join(folder, 'a/b/plugin');
    await writeFile(file, `#!/bin/sh\n${print({ token: 't' })}\n`);
    for (const path of [file, join(folder, 'a/b'), join(folder, 'a')]) await chmod(path, 0o755);
    return { folder, file };
  }

  test('is none that only root and the user of the process can write', async (t) => {
    const { file } = await plugin(t);
    assert.equal(await pluginFileProblem(file), undefined);
    assert.equal(await pluginFileProblem('/bin/sh'), undefined);
  });

  for (const [path, mode, message] of [
    ['a/b/plugin', 0o757, /plugin can be written by everybody/],
    ['a/b/plugin', 0o775, /plugin can be written by the group \d+/],
    ['a/b', 0o777, /a\/b can be written by everybody/],
    ['a', 0o770, /\/a can be written by the group/],
    // As in /tmp, where nobody can replace what belongs to others.
    ['a/b', 0o1777, /^none$/],
  ] as const) {
    test(`is ${message.test('none') ? 'none' : 'one'} with the mode ${mode.toString(8)} on ${path}`, async (t) => {
      const { folder, file } = await plugin(t);
      await chmod(join(folder, path), mode);
      assert.match((await pluginFileProblem(file)) ?? 'none', message);
    });
  }

  test('is one behind a symbolic link whose target, or a folder above it, is open', async (t) => {
    const { folder, file } = await plugin(t);
    await symlink('a/b', join(folder, 'link'));
    await symlink(join(folder, 'link/plugin'), join(folder, 'plugin'));
    assert.equal(await pluginFileProblem(join(folder, 'plugin')), undefined);
    await chmod(join(folder, 'a'), 0o777);
    assert.match((await pluginFileProblem(join(folder, 'plugin'))) ?? '', /\/a can be written by everybody/);
    await chmod(join(folder, 'a'), 0o755);
    await chmod(file, 0o666);
    assert.match((await pluginFileProblem(join(folder, 'plugin'))) ?? '', /plugin can be written by everybody/);
    await symlink('round', join(folder, 'round'));
    assert.match((await pluginFileProblem(join(folder, 'round'))) ?? '', /too many symbolic links/);
  });

  test('is none on a read-only mount, whatever its mode', async (t) => {
    const { folder, file } = await plugin(t);
    await chmod(join(folder, 'a'), 0o777);
    const look = `import { pluginFileProblem } from '${new URL('../../src/exec/executable.ts', import.meta.url)}';
      console.log(await pluginFileProblem('${file}'));`;
    const mount = `mount --bind '${folder}/a' '${folder}/a' && mount -o remount,ro,bind '${folder}/a' &&`;
    const unshare = ['--user', '--map-root-user', '--mount', 'sh', '-c'];
    // Not on macOS, and not where users may not make namespaces.
    if (spawnSync('unshare', [...unshare, 'true']).status !== 0) return;
    const node = [process.execPath, '--input-type=module', '--eval', look];
    const { stdout } = await execa('unshare', [...unshare, `${mount} exec "$@"`, 'sh', ...node]);
    assert.equal(stdout, 'undefined');
    assert.match((await pluginFileProblem(file)) ?? '', /can be written by everybody/);
  });

  test('warns once, and is refused with strictPluginFiles; mending it is enough', async (t) => {
    const { folder, file } = await plugin(t);
    await chmod(join(folder, 'a'), 0o777);
    const warnings: string[] = [];
    const logger = { warn: (_fields: object, message: string) => warnings.push(message) };
    const config = (options: CredentialProvidersOptions) =>
      startProviders(t, { command: file }, { logger, ...options }).getConfig(profile);
    const lenient = config({});
    for (let i = 0; i < 3; i++) {
      lenient.invalidate();
      await lenient.ready();
    }
    assert.equal(warnings.length, 1);
    const said = /can be replaced by another user: .*\/a can be written by everybody; strictPluginFiles/;
    assert.match(warnings[0] ?? '', said);
    const strict = config({ strictPluginFiles: true });
    const message = /let only root and the user of this process write there, or mount it read-only/;
    await assert.rejects(strict.ready(), { name: 'PluginError', code: 'PLUGIN_FILE_UNSAFE', message });
    await chmod(join(folder, 'a'), 0o755);
    strict.invalidate();
    await strict.ready();
  });

  test('is one that belongs to another user', async (t) => {
    const { folder, file } = await plugin(t);
    if (process.getuid?.() === 0) {
      await chown(join(folder, 'a'), 12_345, 0);
      assert.match((await pluginFileProblem(file)) ?? '', /\/a belongs to the user 12345/);
    } else {
      // Only root can give a file away; others see the folders of others as they are.
      assert.equal(await pluginFileProblem(file), undefined);
    }
  });
});
