import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { type PluginAnswer, writePlugin } from '../../src/testing/index.ts';

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
    const folder = await mkdtemp(join(tmpdir(), 'writePlugin-'));
    t.after(() => rm(folder, { recursive: true }));
    const odd = join(folder, `it's "$HOME" \`x\` \\ a`);
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

  test('refuses at once what a plugin cannot do', async () => {
    const odd: readonly (readonly [PluginAnswer, RegExp])[] = [
      [{ token: 't', auth: {} }, /token or certificate, or with auth/],
      [{ exitCode: 256 }, /exitCode must be a whole number from 0 to 255, not 256/],
      [{ exitCode: Number.NaN }, /exitCode/],
      [{ delayMs: -1 }, /delayMs must not be negative/],
      [{ delayMs: Number.POSITIVE_INFINITY }, /delayMs/],
    ];
    await using plugin = await writePlugin();
    for (const [answer, message] of odd) {
      await assert.rejects(writePlugin(answer), message);
      await assert.rejects(plugin.answer(answer), message);
    }
  });
});
