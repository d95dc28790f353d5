import assert from 'node:assert/strict';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { execa } from 'execa';
import type { ResolvedExec } from '../../src/access/resolve.ts';
import { PluginError, type PluginErrorCode } from '../../src/errors.ts';
import { runPlugin } from '../../src/exec/plugin.ts';
import type { PluginCall } from '../../src/exec/plugin-call.ts';
import { writePlugin } from '../../src/testing/index.ts';
import { Troubles } from '../../src/troubles.ts';
import { ended, print, shellPlugin, temporaryFolder, withTimeLimit } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';

const secret = 'SECRET-5bd2f1e0a9';

function call(exec: Partial<ResolvedExec>, more: Partial<PluginCall> = {}): PluginCall {
  return {
    provider: 'google',
    origin: 'access provider google',
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: '',
      args: [],
      env: [],
      provideClusterInfo: false,
      interactiveMode: 'Never',
      ...exec,
    },
    acceptedVersions: ['client.authentication.k8s.io/v1'],
    cluster: undefined,
    ...more,
  };
}

function options(t: TestContext, settings: { timeoutMs?: number; logs?: string[] } = {}) {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const log = (_fields: object, message: string) => settings.logs?.push(message);
  const logger = { info: log, warn: log };
  return {
    timeoutMs: settings.timeoutMs ?? 60_000,
    maxConcurrentRuns: 4,
    cleanEnvironment: false,
    pluginPolicy: { policyType: 'AllowAll' as const },
    strictPluginFiles: false,
    logger,
    troubles: new Troubles({ logger, clock: Date.now }),
    signal: stop.signal,
  };
}

async function failure(run: Promise<unknown>, code: PluginErrorCode): Promise<PluginError> {
  const error: unknown = await run.then(
    () => undefined,
    (reason) => reason,
  );
  assert.ok(error instanceof PluginError, inspect(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, /^access provider google: plugin /);
  assert.ok(!inspect(error, { depth: 9 }).includes(secret), inspect(error));
  return error;
}

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
    const runWith = async (cleanEnvironment: boolean) => {
      await runPlugin(given, { ...options(t), cleanEnvironment });
      const { CPC_TEST_EXISTS, CPC_TEST_NEW, CPC_TEST_OURS } = await plugin.lastEnvironment();
      return [CPC_TEST_EXISTS, CPC_TEST_NEW, CPC_TEST_OURS];
    };
    assert.deepEqual(await runWith(false), ['given', 'given', 'given']);
    process.env.CPC_TEST_EXISTS = '';
    assert.deepEqual(await runWith(false), ['', 'given', 'given']);
    // What the plugin is not given does not exist for it.
    assert.deepEqual(await runWith(true), ['given', 'given', 'given']);
  });

  test('is an stdin that is empty: a plugin that reads it does not wait', async (t) => {
    const plugin = await shellPlugin(t, `cat > "$DIR/stdin"\n${print({ token: 't' })}`);
    await runPlugin(call({ command: plugin.command }), options(t));
    assert.equal(await readFile(join(plugin.folder, 'stdin'), 'utf8'), '');
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

describe('a plugin that fails', () => {
  test('with an exit code gives the code and the last of its stderr, whatever it printed on stdout', async (t) => {
    const plugin = await shellPlugin(t, `echo "no metadata server" >&2\n${print({ token: secret })}\nexit 7`);
    const error = await failure(runPlugin(call({ command: plugin.command }), options(t)), 'PLUGIN_FAILED');
    assert.equal(error.exitCode, 7);
    assert.match(error.message, /exit code 7\nstderr: no metadata server$/);
    assert.equal(error.retryable, true);
  });

  test('of a signal gives the signal', async (t) => {
    const plugin = await shellPlugin(t, 'kill -KILL $$');
    assert.equal(
      (await failure(runPlugin(call({ command: plugin.command }), options(t)), 'PLUGIN_SIGNALED')).signal,
      'SIGKILL',
    );
  });

  test('shows at most the last 2 KiB of its stderr, without credentials and without control characters', async (t) => {
    const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl';
    const code = `yes "0123456789" | head -c 100000 >&2
printf '\\033[31mred\\n' >&2
echo "Authorization: Bearer ${secret}" >&2
echo "jwt ${jwt} proxy http://user:${secret}@proxy" >&2
printf -- '-----BEGIN PRIVATE KEY-----\\n%s\\n-----END PRIVATE KEY-----\\n' ${secret} >&2
exit 1`;
    const plugin = await shellPlugin(t, code);
    const { stderr = '' } = await failure(runPlugin(call({ command: plugin.command }), options(t)), 'PLUGIN_FAILED');
    assert.ok(Buffer.byteLength(stderr) <= 2048, `${Buffer.byteLength(stderr)}`);
    assert.match(stderr, /red\nAuthorization: Bearer \[redacted\]/);
    assert.ok(!stderr.includes(jwt) && !stderr.includes('\u001b'), stderr);
  });

  test('does not show on stderr what it printed as a token on stdout', async (t) => {
    const logs: string[] = [];
    const echo = `echo "got ${secret}" >&2`;
    const failing = await shellPlugin(t, `${echo}\n${print({ token: secret }, { apiVersion: 'wrong/v1' })}`);
    await failure(runPlugin(call({ command: failing.command }), options(t, { logs })), 'ANSWER_WRONG_VERSION');
    const working = await shellPlugin(t, `${echo}\n${print({ token: secret })}`);
    await runPlugin(call({ command: working.command }), options(t, { logs }));
    assert.equal(logs.length, 2);
    assert.ok(
      logs.every((line) => line.includes('got [redacted]')),
      logs.join(),
    );
  });

  test('does not show what it was configured with: variables, arguments, and its own environment', async (t) => {
    process.env.CPC_TEST_SESSION_TOKEN = `inherited-${secret}`;
    t.after(() => delete process.env.CPC_TEST_SESSION_TOKEN);
    const env = [
      { name: 'WHATEVER', value: `configured-${secret}` },
      { name: 'AZURE_TENANT_ID', value: 'tenant-1' },
      { name: 'KUBECONFIG', value: '/etc/hub/kubeconfig' },
    ];
    const code = `echo "$WHATEVER; $1; $2; $CPC_TEST_SESSION_TOKEN; $AZURE_TENANT_ID at $KUBECONFIG" >&2; exit 1`;
    const plugin = await shellPlugin(t, code);
    const args = ['--client-secret', `argument-${secret}`];
    const error = await failure(runPlugin(call({ command: plugin.command, env, args }), options(t)), 'PLUGIN_FAILED');
    assert.equal(error.stderr, '[redacted]; --client-secret; [redacted]; [redacted]; tenant-1 at /etc/hub/kubeconfig');
  });

  for (const [what, code] of [
    [
      'that is its answer',
      `token=$(cat "$DIR/token"); printf '{"status":{"token":"%s"}}' "$token"; echo "got $token" >&2`,
    ],
    ['that is in no answer', `cat "$DIR/token" >&2; exit 1`],
    ['that is in no answer, and words around it', `{ cat "$DIR/token"; echo; echo 'is refused'; } >&2; exit 1`],
  ] as const) {
    test(`does not show the end of a token of 40 KiB ${what}`, async (t) => {
      const plugin = await shellPlugin(t, code);
      const token = `${secret}${Array.from({ length: 4_000 }, (_, i) => `a${(i * 7919) % 1_000_003}B`).join('')}`;
      await writeFile(join(plugin.folder, 'token'), token);
      const error: unknown = await runPlugin(call({ command: plugin.command }), options(t)).catch((reason) => reason);
      assert.ok(error instanceof PluginError);
      for (let at = 0; at + 15 <= token.length; at += 5) assert.ok(!error.message.includes(token.slice(at, at + 15)));
      if (code.includes('is refused')) assert.match(error.message, /is refused/);
    });
  }

  test('that hangs is killed with its whole group when its time is over', async (t) => {
    const code = `trap '' TERM\nsleep 1000 &\necho $! > "$DIR/child"\necho $$ > "$DIR/pid"\nwait`;
    const plugin = await shellPlugin(t, code);
    await withTimeLimit(join(plugin.folder, 'pid'), async (timeoutMs) => {
      const run = runPlugin(call({ command: plugin.command }), options(t, { timeoutMs }));
      const error = await failure(run, 'PLUGIN_TIMEOUT');
      assert.ok(error.message.includes(`within ${timeoutMs} ms`), error.message);
    });
    for (const name of ['pid', 'child']) await ended(t, Number(await readFile(join(plugin.folder, name), 'utf8')));
  });

  test('that has answered, and is kept open, is told from one that has not', async (t) => {
    const answered = `${print({ token: secret })}\necho > "$DIR/answered"\nexec sleep 1000`;
    const plugin = await shellPlugin(t, answered);
    let message = '';
    await withTimeLimit(join(plugin.folder, 'answered'), async (timeoutMs) => {
      const run = runPlugin(call({ command: plugin.command }), options(t, { timeoutMs }));
      message = (await failure(run, 'PLUGIN_TIMEOUT')).message;
    });
    assert.match(message, /: answered and did not end within .* it keeps something open/);
    assert.ok(!message.includes(secret));
    const half = await shellPlugin(t, `printf '{"kind": "ExecCredential", '\nexec sleep 1000`);
    const run = runPlugin(call({ command: half.command }), options(t, { timeoutMs: 300 }));
    assert.match((await failure(run, 'PLUGIN_TIMEOUT')).message, /: gave no answer within 300 ms/);
  });

  test('that is over its time gets SIGTERM first', async (t) => {
    const code = `trap 'echo term >> "$DIR/signals"' TERM\necho $$ > "$DIR/pid"\nwhile :; do sleep 0.1; done`;
    const plugin = await shellPlugin(t, code);
    await withTimeLimit(join(plugin.folder, 'pid'), (timeoutMs) =>
      failure(runPlugin(call({ command: plugin.command }), options(t, { timeoutMs })), 'PLUGIN_TIMEOUT'),
    );
    assert.match(await readFile(join(plugin.folder, 'signals'), 'utf8'), /^term$/m);
  });

  test('whose grandchild holds stdout in a session of its own settles all the same', async (t) => {
    const plugin = await shellPlugin(t, `setsid sh -c 'echo $$ > "'$DIR'/child"; exec sleep 1000' &\nexit 0`);
    await withTimeLimit(join(plugin.folder, 'child'), (timeoutMs) =>
      failure(runPlugin(call({ command: plugin.command }), options(t, { timeoutMs })), 'PLUGIN_TIMEOUT'),
    );
    process.kill(Number(await readFile(join(plugin.folder, 'child'), 'utf8')), 'SIGKILL');
  });

  test('that prints 100 MB is stopped early', async (t) => {
    const plugin = await shellPlugin(t, `yes ${secret} | head -c 100000000`);
    await failure(runPlugin(call({ command: plugin.command }), options(t)), 'ANSWER_TOO_LARGE');
  });

  for (const [what, code, expected] of [
    ['nothing', '', 'ANSWER_EMPTY'],
    ['garbage', `echo '{"token": ${secret}'`, 'ANSWER_UNPARSABLE'],
    ['no status', print(undefined), 'ANSWER_NO_STATUS'],
    ['a lone certificate', print({ clientCertificateData: secret }), 'ANSWER_HALF_PAIR'],
  ] as const) {
    test(`because it prints ${what} is named with its answer's fault`, async (t) => {
      const plugin = await shellPlugin(t, code);
      await failure(runPlugin(call({ command: plugin.command }), options(t)), expected);
    });
  }
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
  test('never exceed the limit, and one access type does not push another to the end of the queue', async (t) => {
    const folder = await temporaryFolder(t);
    const code = `echo start >> ${folder}/log; sleep 0.05; echo "end $1" >> ${folder}/log\n${print({ token: 't' })}`;
    const plugin = await shellPlugin(t, code);
    const limited = { ...options(t), maxConcurrentRuns: 2 };
    const run = (provider: string) =>
      runPlugin({ ...call({ command: plugin.command, args: [provider] }), provider }, limited);
    await Promise.all([...new Array(10).fill('a'), 'b'].map(run));
    const log = (await readFile(join(folder, 'log'), 'utf8')).trim().split('\n');
    let running = 0;
    for (const line of log) {
      running += line === 'start' ? 1 : -1;
      assert.ok(running <= 2, log.join());
    }
    const ends = log.filter((line) => line.startsWith('end'));
    assert.equal(ends.length, 11);
    assert.ok(ends.indexOf('end b') < 6, ends.join());
  });

  test('that are slow do not hold every place: another access type gets through at once', async (t) => {
    const folder = await temporaryFolder(t);
    const slow = await shellPlugin(t, `while [ ! -e ${folder}/go ]; do sleep 0.01; done\n${print({ token: 'slow' })}`);
    const quick = await shellPlugin(t, print({ token: 'quick' }));
    const limited = { ...options(t), maxConcurrentRuns: 8 };
    const run = (provider: string, { command }: { command: string }) =>
      runPlugin({ ...call({ command }), provider }, limited);
    await run('quick', quick);
    const waiting = Array.from({ length: 20 }, () => run('slow', slow));
    // Six or seven of eight places are taken now, and the others stay taken until the quick ones are through.
    for (let i = 0; i < 5; i++) assert.equal((await run('quick', quick)).authorization, 'Bearer quick');
    assert.ok((await slow.runs()) < 8);
    await writeFile(join(folder, 'go'), '');
    await Promise.all(waiting);
    assert.equal(await slow.runs(), 20);
  });

  for (const ending of ['process.exit(3)', "process.kill(process.pid, 'SIGTERM')"]) {
    test(`end with this process, when it does ${ending}`, async (t) => {
      const plugin = await shellPlugin(t, `sleep 1000 &\necho $! > "$DIR/child"\necho $$ > "$DIR/pid"\nwait`);
      const program = `
        import { existsSync } from 'node:fs';
        import { CredentialProviders } from '${new URL('../../dist/index.js', import.meta.url)}';
        const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: '${plugin.command}' };
        const status = { accessProviders: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }] };
        new CredentialProviders([{ name: 'a', execConfig }]).getConfig({ status }).ready().catch(() => {});
        const poll = () => (existsSync('${plugin.folder}/pid') ? ${ending} : setImmediate(poll));
        poll();`;
      await execa(process.execPath, ['--input-type=module', '--eval', program], { reject: false });
      for (const name of ['pid', 'child']) await ended(t, Number(await readFile(join(plugin.folder, name), 'utf8')));
    });
  }

  test('leave signals to a program that has handlers of its own, and are no reason for handlers once they have ended', async (t) => {
    const plugin = await shellPlugin(t, `echo $$ > "$DIR/pid.new"; mv "$DIR/pid.new" "$DIR/pid"; exec sleep 1000`);
    const program = `
      import { existsSync } from 'node:fs';
      import { CredentialProviders } from '${new URL('../../dist/index.js', import.meta.url)}';
      const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: '${plugin.command}' };
      const status = { accessProviders: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }] };
      const providers = new CredentialProviders([{ name: 'a', execConfig }]);
      const ready = providers.getConfig({ status }).ready().catch(({ code }) => code);
      process.on('SIGTERM', async () => {
        await providers.close();
        console.log(await ready, process.listenerCount('SIGTERM') - 1);
      });
      const poll = () => (existsSync('${plugin.folder}/pid') ? process.kill(process.pid, 'SIGTERM') : setImmediate(poll));
      poll();`;
    const { exitCode, stdout } = await execa(process.execPath, ['--input-type=module', '--eval', program], {
      reject: false,
    });
    assert.deepEqual([exitCode, stdout], [0, 'PLUGIN_STOPPED 0']);
    await ended(t, Number(await readFile(join(plugin.folder, 'pid'), 'utf8')));
  });

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
