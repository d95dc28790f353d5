// client-go's exec authenticator, item by item (see input.test.ts). E and F: how the plugin is run, and when it has the terminal.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ConfigurationError } from '../../src/index.ts';
import { failure, setUp } from '../fixtures/client-go.ts';
import { print, temporaryFolder } from '../fixtures/script.ts';

describe('E. Running the plugin', () => {
  test('E.37, E.38: the environment is that of the process now, then the configured, then the exec info', async (t) => {
    const code = `printf '%s,%s,%s' "$OF_PROCESS" "$OF_BOTH" "$case" > "$DIR/seen"\n${print({ token: 't' })}`;
    const env = [
      { name: 'OF_BOTH', value: 'configured first' },
      { name: 'OF_BOTH', value: 'configured' },
      { name: 'CASE', value: 'upper' },
    ];
    const { config, plugin } = await setUp(t, { code, exec: { env } });
    Object.assign(process.env, { OF_PROCESS: 'process', OF_BOTH: 'process', case: 'lower' });
    t.after(() => {
      for (const name of ['OF_PROCESS', 'OF_BOTH', 'case']) delete process.env[name];
    });
    await config.ready();
    assert.equal(await readFile(join(plugin.folder, 'seen'), 'utf8'), 'process,configured,lower');
  });

  test('E.37: KUBERNETES_EXEC_INFO cannot be configured: an error at once (differs: overridden there)', async (t) => {
    const { load } = await setUp(t);
    assert.throws(() => load({ env: [{ name: 'KUBERNETES_EXEC_INFO', value: 'x' }] }), ConfigurationError);
  });

  test('E.39: a NUL in a variable is refused at once', async (t) => {
    const { load } = await setUp(t);
    assert.throws(() => load({ env: [{ name: 'A', value: 'a\0b' }] }), ConfigurationError);
  });

  test("E.40, E.41: a bare name is looked up in the process's PATH, in absolute folders, skipping what cannot run", async (t) => {
    const { plugin, load } = await setUp(t);
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'plugin'), 'not executable', { mode: 0o644 });
    const { PATH = '' } = process.env;
    t.after(() => {
      process.env.PATH = PATH;
    });
    const env = [{ name: 'PATH', value: '/bin:/usr/bin' }];
    process.env.PATH = `:.:${folder}:${plugin.folder}:${PATH}`;
    await load({ command: 'plugin', env }).ready();
    assert.equal(await plugin.runs(), 1);
    process.env.PATH = `${folder}:${PATH}`;
    await assert.rejects(load({ command: 'plugin' }).ready(), { code: 'PLUGIN_NOT_EXECUTABLE' });
  });

  test('E.42: arguments are passed verbatim, without a shell, in the working directory of the process', async (t) => {
    const code = `printf '%s|' "$PWD" "$@" > "$DIR/seen"\n${print({ token: 't' })}`;
    const args = ['a b', '', '$HOME', '*', ';exit 1', '"'];
    const { config, plugin } = await setUp(t, { code, exec: { args } });
    await config.ready();
    assert.equal(await readFile(join(plugin.folder, 'seen'), 'utf8'), `${[process.cwd(), ...args].join('|')}|`);
  });

  test('E.43, E.44: a run has a time limit, and a grandchild that holds stdout cannot go past it (differs)', async (t) => {
    const code = `sleep 60 &\n${print({ token: 't' })}`;
    const { code: error } = await failure(t, { code, options: { timeoutMs: 300 } });
    assert.equal(error, 'PLUGIN_TIMEOUT');
  });

  test('E.44: spaces around the answer do no harm; more than 1 MiB is refused (differs)', async (t) => {
    const spaces = (count: number) => `head -c ${count} /dev/zero | tr '\\0' ' '\n${print({ token: 't' })}`;
    await (await setUp(t, { code: spaces(500_000) })).config.ready();
    assert.equal((await failure(t, { code: spaces(5_000_000) })).code, 'ANSWER_TOO_LARGE');
  });

  test('E.45, E.49: stderr is in the error, redacted (differs); stdout never is', async (t) => {
    const error = await failure(t, { code: 'echo SECRET-stdout; echo "cannot log in" >&2; exit 1' });
    assert.match(error.message, /cannot log in/);
    assert.doesNotMatch(error.message, /SECRET/);
  });

  test('E.46: without a terminal stdin is empty, not closed', async (t) => {
    const { config, plugin } = await setUp(t, { code: `wc -c > "$DIR/read"\n${print({ token: 't' })}` });
    await config.ready();
    assert.equal((await readFile(join(plugin.folder, 'read'), 'utf8')).trim(), '0');
  });

  for (const [item, code, expected] of [
    ['E.47: the exit code decides before the answer', `${print({ token: 't' })}\nexit 4`, { exitCode: 4 }],
    ['E.48: an exit code is passed on modulo 256', 'exit 300', { exitCode: 44 }],
    ['E.48: a signal is told', 'kill -9 $$', { signal: 'SIGKILL' }],
  ] as const) {
    test(item, async (t) => {
      const { exitCode, signal } = await failure(t, { code });
      assert.deepEqual({ exitCode, signal }, { exitCode: undefined, signal: undefined, ...expected });
    });
  }

  test('E.48, E.50: a missing executable is told with the hint, a bare name and a path alike (differs)', async (t) => {
    for (const command of ['no-such-plugin-anywhere', '/nowhere/plugin']) {
      const error = await failure(t, { exec: { command, installHint: 'Install it so.' } });
      assert.equal(error.code, 'PLUGIN_NOT_FOUND');
      assert.match(error.message, /Install it so\./);
    }
  });
});

describe('F. The interactive decision (stdin of the tests is no terminal)', () => {
  for (const interactiveMode of ['Never', 'IfAvailable']) {
    test(`F.52, F.55: ${interactiveMode} runs without interaction`, async (t) => {
      const { config, info } = await setUp(t, { exec: { interactiveMode } });
      await config.ready();
      assert.equal(JSON.parse(await info()).spec.interactive, false);
    });
  }
  test('F.57, F.60: Always is an error, and nothing is run', async (t) => {
    const { config, plugin } = await setUp(t, { exec: { interactiveMode: 'Always' } });
    await assert.rejects(config.ready(), { code: 'PLUGIN_NO_TERMINAL' });
    assert.equal(await plugin.runs(), 0);
  });
  test('F.59: any other is refused when the kubeconfig is read (differs: at the first run there)', async (t) => {
    const { load } = await setUp(t);
    assert.throws(() => load({ interactiveMode: 'Sometimes' }), ConfigurationError);
  });
});
