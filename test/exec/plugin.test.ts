import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { runPlugin } from '../../src/exec/plugin.ts';
import type { PluginCall } from '../../src/exec/plugin-call.ts';
import { writePlugin } from '../../src/testing/index.ts';
import { call, failure, failureOf, options, secret } from '../fixtures/plugin-call.ts';
import { print, setEnvironment, shellPlugin, temporaryFolder } from '../fixtures/script.ts';

describe('what a plugin is given', () => {
  test("is the process's environment, then the exec config's, then the exec info, and its arguments verbatim", async (t) => {
    await using plugin = await writePlugin({ token: 't' });
    setEnvironment(t, { CPC_TEST_FROM_PROCESS: 'process', CPC_TEST_OVERRIDDEN: 'process' });
    const args = ['a b', '', '$HOME', '*', 'line\nbreak', '--x=y'];
    const env = [
      { name: 'CPC_TEST_OVERRIDDEN', value: 'config' },
      { name: '__proto__', value: 'plain data' },
    ];
    const cluster = { server: 'https://h', config: { clusterName: 'spoke-1' } };
    await runPlugin(call({ command: plugin.command, args, env }, { cluster }), options(t));
    assert.deepEqual(await plugin.lastArgs(), args);
    const environment = await plugin.lastEnvironment();
    assert.equal(environment.CPC_TEST_FROM_PROCESS, 'process');
    assert.equal(environment.CPC_TEST_OVERRIDDEN, 'config');
    assert.equal(Object.getOwnPropertyDescriptor(environment, '__proto__')?.value, 'plain data');
    assert.deepEqual(await plugin.lastInput(), {
      kind: 'ExecCredential',
      apiVersion: 'client.authentication.k8s.io/v1',
      spec: { interactive: false, cluster },
    });
  });

  test('is nothing of the process but PATH and HOME where a clean environment is asked for', async (t) => {
    await using plugin = await writePlugin({ token: 't' });
    const env = [{ name: 'CONFIGURED', value: 'yes' }];
    await runPlugin(call({ command: plugin.command, env }), { ...options(t), cleanEnvironment: true });
    // The shell itself adds the others.
    const { PWD: _, OLDPWD: __, _: ___, SHLVL: ____, ...given } = await plugin.lastEnvironment();
    assert.deepEqual(Object.keys(given).sort(), ['CONFIGURED', 'HOME', 'KUBERNETES_EXEC_INFO', 'PATH']);
  });

  test('is nothing of a profile where the policy is AppendIfNotExists and the environment has it, looked at for each run', async (t) => {
    await using plugin = await writePlugin({ token: 't' });
    t.after(() => delete process.env.CPC_TEST_EXISTS);
    const env = ['CPC_TEST_EXISTS', 'CPC_TEST_NEW', 'CPC_TEST_OURS'].map((name) => ({ name, value: 'given' }));
    const given = call({ command: plugin.command, env, appendIfNotExists: ['CPC_TEST_EXISTS', 'CPC_TEST_NEW'] });
    const logs: string[] = [];
    const settings = options(t, { logs });
    const runWith = async (cleanEnvironment: boolean) => {
      await runPlugin(given, { ...settings, cleanEnvironment });
      const { CPC_TEST_EXISTS, CPC_TEST_NEW, CPC_TEST_OURS } = await plugin.lastEnvironment();
      return [CPC_TEST_EXISTS, CPC_TEST_NEW, CPC_TEST_OURS];
    };
    assert.deepEqual(await runWith(false), ['given', 'given', 'given']);
    process.env.CPC_TEST_EXISTS = '';
    for (let i = 0; i < 2; i++) assert.deepEqual(await runWith(false), ['', 'given', 'given']);
    assert.equal(logs.length, 1);
    assert.match(logs.join(), /is not given the profile's variable CPC_TEST_EXISTS: the process's environment has it/);
    // What the plugin is not given does not exist for it.
    assert.deepEqual(await runWith(true), ['given', 'given', 'given']);
  });

  test('is the working directory of the process, and an stdin that is empty: a plugin that reads it does not wait', async (t) => {
    const plugin = await shellPlugin(t, `pwd > "$DIR/cwd"; cat > "$DIR/stdin"\n${print({ token: 't' })}`);
    await runPlugin(call({ command: plugin.command }), options(t));
    assert.equal(await readFile(join(plugin.folder, 'stdin'), 'utf8'), '');
    assert.equal(await readFile(join(plugin.folder, 'cwd'), 'utf8'), `${process.cwd()}\n`);
  });
});

describe('the executable', () => {
  test("is looked up in the process's PATH, not in the one configured for the plugin", async (t) => {
    const { folder } = await shellPlugin(t, print({ token: 't' }));
    const before = process.env.PATH;
    setEnvironment(t, { PATH: `${folder}:${before}` });
    await runPlugin(call({ command: 'plugin' }), options(t));
    process.env.PATH = before;
    const env = [{ name: 'PATH', value: `${folder}:${before}` }];
    await failureOf(t, { command: 'plugin', env }, 'PLUGIN_NOT_FOUND');
  });

  test('is never found through an entry of PATH that is relative to the working directory', async (t) => {
    const { folder } = await shellPlugin(t, print({ token: 't' }));
    const directory = process.cwd();
    t.after(() => process.chdir(directory));
    process.chdir(folder);
    setEnvironment(t, { PATH: `.::${process.env.PATH}` });
    await failureOf(t, { command: 'plugin' }, 'PLUGIN_NOT_FOUND');
  });

  test('that is missing is an error with the install hint', async (t) => {
    const exec = { command: '/nonexistent/plugin', installHint: 'Install it from example.dev\u001b[2J\u0007.' };
    const error = await failureOf(t, exec, 'PLUGIN_NOT_FOUND');
    assert.match(error.message, /there is no such file.*\nInstall it from example\.dev\\u0007\./s);
  });

  test('that lacks its interpreter is an error', async (t) => {
    const command = join(await temporaryFolder(t), 'plugin');
    await writeFile(command, '#!/nonexistent/interpreter\n', { mode: 0o755 });
    assert.match((await failureOf(t, { command }, 'PLUGIN_NOT_EXECUTABLE')).message, /interpreter/);
  });
});

test('a working directory that is gone gives an error like any other, which holds nothing of the arguments', async (t) => {
  await using plugin = await writePlugin({ token: 't' });
  const directory = process.cwd();
  t.after(() => process.chdir(directory));
  const folder = await temporaryFolder(t);
  process.chdir(folder);
  await rm(folder, { recursive: true });
  const error = await failureOf(t, { command: plugin.command, args: [secret] }, 'PLUGIN_NOT_EXECUTABLE');
  assert.match(error.message, /could not be started/);
});

describe('input over the limit of the kernel', () => {
  const big = 'x'.repeat(140_000);

  test('is refused before the spawn, and the error says which part is large', async (t) => {
    await using plugin = await writePlugin({ token: 't' });
    const { command } = plugin;
    const refused = async (given: PluginCall) =>
      (await failure(runPlugin(given, options(t)), 'PLUGIN_INPUT_TOO_LARGE')).message;
    assert.match(await refused(call({ command, args: ['a', big] })), /argument 2 has 140001 bytes/);
    assert.match(await refused(call({ command, env: [{ name: 'BIG', value: big }] })), /variable BIG has 140005 bytes/);
    const cluster = { server: 'https://h', 'certificate-authority-data': big, config: null };
    const said = /spec\.cluster\.certificate-authority-data alone.*provideClusterInfo: false/;
    assert.match(await refused(call({ command }, { cluster })), said);
    assert.equal(await plugin.runs(), 0);
  });

  test('counts the name and the final NUL: one byte less is taken', async (t) => {
    await using plugin = await writePlugin({ token: 't' });
    const env = [{ name: 'BIG', value: 'x'.repeat(131_072 - 'BIG='.length - 1) }];
    await runPlugin(call({ command: plugin.command, env }), options(t));
    const one = [{ name: 'BIG', value: `${env[0]?.value}x` }];
    await failureOf(t, { command: plugin.command, env: one }, 'PLUGIN_INPUT_TOO_LARGE');
  });

  test('is refused as a whole too', async (t) => {
    await using plugin = await writePlugin({ token: 't' });
    const args = new Array(60).fill('x'.repeat(120_000));
    await failureOf(t, { command: plugin.command, args }, 'PLUGIN_INPUT_TOO_LARGE');
  });
});

test('a plugin that wants a terminal and has none is not run', async (t) => {
  // The test runner gives its children no terminal.
  await using plugin = await writePlugin({ token: 't' });
  const { command } = plugin;
  await failureOf(t, { command, interactiveMode: 'Always' }, 'PLUGIN_NO_TERMINAL');
  assert.equal(await plugin.runs(), 0);
  await runPlugin(call({ command, interactiveMode: 'IfAvailable' }), options(t));
  assert.equal(await plugin.runs(), 1);
});
