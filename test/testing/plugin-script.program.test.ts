import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { ImageCredentialProviders } from '../../src/image-credentials/index.ts';
import { writePlugin } from '../../src/testing/index.ts';
import { v1 } from '../fixtures/image-plugins.ts';
import { temporaryFolder } from '../fixtures/script.ts';

describe('writePlugin', () => {
  test('counts concurrent runs, keeps arguments and environment, and has no token in its script', async () => {
    await using plugin = await writePlugin({ token: 'SECRET', stderr: 'hello', exitCode: 0 });
    const args = ['a b', 'line\nbreak', ''];
    await Promise.all(
      Array.from({ length: 10 }, () => execa(plugin.command, args, { env: { KUBERNETES_EXEC_INFO: '{"a":1}' } })),
    );
    assert.equal(await plugin.runs(), 10);
    assert.deepEqual(await plugin.lastArgs(), args);
    assert.deepEqual(await plugin.lastInput(), { a: 1 });
    assert.ok(!(await readFile(plugin.command, 'utf8')).includes('SECRET'));
    const { stdout, stderr } = await execa(plugin.command);
    assert.deepEqual([JSON.parse(stdout).status, stderr], [{ token: 'SECRET' }, 'hello']);
  });

  test('serves image plugins, which read their request from stdin', async () => {
    const auth = { 'registry.example.dev': { username: 'u', password: 'p' } };
    await using plugin = await writePlugin({ auth, cacheKeyType: 'Registry', cacheDuration: '5m' });
    const request = { kind: 'CredentialProviderRequest', image: 'registry.example.dev/app' };
    const { stdout } = await execa(plugin.command, { input: JSON.stringify(request) });
    assert.deepEqual(JSON.parse(stdout), {
      kind: 'CredentialProviderResponse',
      apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
      cacheKeyType: 'Registry',
      cacheDuration: '5m',
      auth,
    });
    assert.deepEqual(await plugin.lastInput(), request);
    await plugin.answer({ token: 't' });
    // A credential plugin may have a terminal as its stdin: it does not wait for an end.
    await execa(plugin.command, { input: '{"not":"read"}', env: { KUBERNETES_EXEC_INFO: '{"a":1}' } });
    assert.deepEqual(await plugin.lastInput(), { a: 1 });
    await plugin.answer({ auth: null, stdout: 'nonsense' });
    assert.equal((await execa(plugin.command, { input: '{}' })).stdout, 'nonsense');
  });

  test('works in a folder whose name a shell would read', async (t) => {
    const odd = join(await temporaryFolder(t), `it's "$HOME" \`x\` \\ a`);
    await mkdir(odd);
    const module = new URL('../../src/testing/index.ts', import.meta.url).href;
    const program = `
      const { writePlugin } = await import(${JSON.stringify(module)});
      const { execa } = await import('execa');
      await using plugin = await writePlugin({ token: 't' });
      const { stdout } = await execa(plugin.command);
      console.log(plugin.directory, JSON.parse(stdout).status.token, await plugin.runs());`;
    const { stdout } = await execa(process.execPath, ['--input-type=module', '-e', program], { env: { TMPDIR: odd } });
    assert.ok(stdout.startsWith(odd), stdout);
    assert.match(stdout, / t 1$/);
  });

  test('writes two image plugins into one folder, under their names', async () => {
    const login = (username: string) => ({ auth: { 'r.io': { username, password: 'p' } } });
    await using one = await writePlugin(login('1'), { name: 'one' });
    await using two = await writePlugin(login('2'), { name: 'two', directory: one.directory });
    assert.deepEqual([one.command, two.command], [join(one.directory, 'one'), join(one.directory, 'two')]);
    assert.equal(two.directory, one.directory);
    const provider = (name: string) => ({ name, apiVersion: v1, matchImages: ['r.io'], defaultCacheDuration: '1h' });
    const config = join(one.directory, '..', 'config.json');
    const content = { kind: 'CredentialProviderConfig', apiVersion: 'kubelet.config.k8s.io/v1' };
    await writeFile(config, JSON.stringify({ ...content, providers: [provider('one'), provider('two')] }));
    await using providers = ImageCredentialProviders.fromConfigFile(config, { binDir: one.directory });
    const { credentials } = await providers.getCredentials('r.io/a');
    assert.deepEqual(
      credentials.map(({ provider: name, username }) => [name, username]),
      [
        ['one', '1'],
        ['two', '2'],
      ],
    );
    assert.deepEqual([await one.runs(), await two.runs()], [1, 1]);
    await assert.rejects(writePlugin({}, { name: 'two', directory: one.directory }), { code: 'EEXIST' });
    assert.deepEqual((await execa(two.command, { input: '{}' })).exitCode, 0, 'what was there is still there');
    const missing = join(one.directory, 'missing');
    await assert.rejects(writePlugin({}, { directory: missing }), { code: 'ENOENT' });
    await two.remove();
    assert.deepEqual(await readdir(one.directory), ['one'], 'and takes only its own away');
  });
});
