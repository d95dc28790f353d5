import assert from 'node:assert/strict';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { runPlugin } from '../../src/exec/plugin.ts';
import type { PluginCall } from '../../src/exec/plugin-call.ts';
import { writePlugin } from '../../src/testing/index.ts';
import { call, failure, options, secret } from '../fixtures/plugin-call.ts';
import { ended, print, shellPlugin, temporaryFolder } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';

describe('what a plugin is given', () => {
  test("is the process's environment, then the exec config's, then the exec info, and its arguments verbatim", async (t) => {
    await using plugin = await writePlugin({ token: 't' });
    process.env.CPC_TEST_FROM_PROCESS = 'process';
    process.env.CPC_TEST_OVERRIDDEN = 'process';
    t.after(() => {
      delete process.env.CPC_TEST_FROM_PROCESS;
      delete process.env.CPC_TEST_OVERRIDDEN;
    });
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
    const names = Object.keys(await plugin.lastEnvironment());
    // The shell itself adds the last three.
    const shells = ['PWD', 'OLDPWD', '_', 'SHLVL'];
    assert.deepEqual(names.filter((name) => !shells.includes(name)).sort(), [
      'CONFIGURED',
      'HOME',
      'KUBERNETES_EXEC_INFO',
      'PATH',
    ]);
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
    process.env.PATH = `${folder}:${before}`;
    t.after(() => {
      process.env.PATH = before;
    });
    await runPlugin(call({ command: 'plugin' }), options(t));
    process.env.PATH = before;
    const env = [{ name: 'PATH', value: `${folder}:${before}` }];
    await failure(runPlugin(call({ command: 'plugin', env }), options(t)), 'PLUGIN_NOT_FOUND');
  });

  test('is never found through an entry of PATH that is relative to the working directory', async (t) => {
    const { folder } = await shellPlugin(t, print({ token: 't' }));
    const before = { path: process.env.PATH, directory: process.cwd() };
    t.after(() => {
      process.env.PATH = before.path;
      process.chdir(before.directory);
    });
    process.chdir(folder);
    process.env.PATH = `.::${before.path}`;
    await failure(runPlugin(call({ command: 'plugin' }), options(t)), 'PLUGIN_NOT_FOUND');
  });

  test('that is missing is an error with the install hint', async (t) => {
    const exec = { command: '/nonexistent/plugin', installHint: 'Install it from example.dev\u001b[2J\u0007.' };
    const error = await failure(runPlugin(call(exec), options(t)), 'PLUGIN_NOT_FOUND');
    assert.match(error.message, /there is no such file.*\nInstall it from example\.dev\\u0007\./s);
    assert.match(
      (await failure(runPlugin(call({ command: 'no-such-plugin-x' }), options(t)), 'PLUGIN_NOT_FOUND')).message,
      /no folder of PATH/,
    );
  });

  test('that is not executable, a folder, or lacks its interpreter is an error', async (t) => {
    const folder = await temporaryFolder(t);
    const file = join(folder, 'plain');
    await writeFile(file, 'x');
    assert.match(
      (await failure(runPlugin(call({ command: file }), options(t)), 'PLUGIN_NOT_EXECUTABLE')).message,
      /chmod \+x/,
    );
    await failure(runPlugin(call({ command: folder }), options(t)), 'PLUGIN_NOT_EXECUTABLE');
    await writeFile(file, '#!/nonexistent/interpreter\n');
    await chmod(file, 0o755);
    assert.match(
      (await failure(runPlugin(call({ command: file }), options(t)), 'PLUGIN_NOT_EXECUTABLE')).message,
      /interpreter/,
    );
  });
});

describe('a working directory that is gone', () => {
  test('gives an error like any other, which holds nothing of the arguments', async (t) => {
    await using plugin = await writePlugin({ token: 't' });
    const directory = process.cwd();
    t.after(() => process.chdir(directory));
    const folder = await temporaryFolder(t);
    process.chdir(folder);
    await rm(folder, { recursive: true });
    const run = runPlugin(call({ command: plugin.command, args: [secret] }), options(t));
    assert.match((await failure(run, 'PLUGIN_NOT_EXECUTABLE')).message, /could not be started/);
  });
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
    assert.match(
      await refused(call({ command }, { cluster })),
      /spec\.cluster\.certificate-authority-data alone.*provideClusterInfo: false/,
    );
    assert.equal(await plugin.runs(), 0);
  });

  test('counts the name and the final NUL: one byte less is taken', async (t) => {
    await using plugin = await writePlugin({ token: 't' });
    const env = [{ name: 'BIG', value: 'x'.repeat(131_072 - 'BIG='.length - 1) }];
    await runPlugin(call({ command: plugin.command, env }), options(t));
    const one = [{ name: 'BIG', value: `${env[0]?.value}x` }];
    await failure(runPlugin(call({ command: plugin.command, env: one }), options(t)), 'PLUGIN_INPUT_TOO_LARGE');
  });

  test('is refused as a whole too', async (t) => {
    await using plugin = await writePlugin({ token: 't' });
    const args = new Array(60).fill('x'.repeat(120_000));
    await failure(runPlugin(call({ command: plugin.command, args }), options(t)), 'PLUGIN_INPUT_TOO_LARGE');
  });
});

describe('a plugin that wants a terminal', () => {
  test('and has none is not run', async (t) => {
    // The test runner gives its children no terminal.
    await using plugin = await writePlugin({ token: 't' });
    const { command } = plugin;
    await failure(runPlugin(call({ command, interactiveMode: 'Always' }), options(t)), 'PLUGIN_NO_TERMINAL');
    assert.equal(await plugin.runs(), 0);
    await runPlugin(call({ command, interactiveMode: 'IfAvailable' }), options(t));
    assert.equal(await plugin.runs(), 1);
  });
});

describe('many runs', () => {
  test('are stopped when the library is closed', async (t) => {
    const plugin = await shellPlugin(t, `echo $$ > "$DIR/pid.new"; mv "$DIR/pid.new" "$DIR/pid"; exec sleep 1000`);
    const stop = new AbortController();
    const run = runPlugin(call({ command: plugin.command }), { ...options(t), signal: stop.signal });
    const failed = failure(run, 'PLUGIN_STOPPED');
    let pid = '';
    await until(t, async () => {
      pid = await readFile(join(plugin.folder, 'pid'), 'utf8').catch(() => '');
      return pid !== '';
    });
    stop.abort();
    await failed;
    await ended(t, Number(pid));
  });
});
