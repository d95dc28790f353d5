// client-go's exec authenticator (k8s.io/client-go v0.36.3), item by item: the letters and numbers are those of a list of what
// it was seen to do. What differs on purpose says so, and is in the tables of docs/differences.md. Items A and B.17 are in
// rest/kubeconfig*.test.ts and rest/static-credentials.test.ts, those of the terminal (F.53, F.56) in exec/terminal.program.test.ts,
// M in plugin/plugin.test.ts.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { request } from 'undici';
import { ConfigurationError, type KubeconfigOptions, PluginError, RestConfig } from '../src/index.ts';
import { createCertificateAuthority } from '../src/testing/index.ts';
import { startCluster } from './fixtures/fleet.ts';
import { print, shellPlugin, temporaryFolder } from './fixtures/script.ts';

const v1 = 'client.authentication.k8s.io/v1';

interface Parts {
  /** Shell code of the plugin. */
  readonly code?: string;
  readonly exec?: object;
  readonly cluster?: object;
  readonly options?: KubeconfigOptions;
}

/** One cluster, one plugin that leaves its input behind, and a kubeconfig that joins them. */
async function setUp(t: TestContext, { code = print({ token: 'token-1' }), exec, cluster, options }: Parts = {}) {
  const server = await startCluster(t);
  const plugin = await shellPlugin(t, `printf '%s' "$KUBERNETES_EXEC_INFO" > "$DIR/info"\n${code}`);
  const { url, certificateAuthorityData } = server;
  const kubeconfig = (more: object = {}) =>
    JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
      clusters: [
        { name: 'k', cluster: { server: url, 'certificate-authority-data': certificateAuthorityData, ...cluster } },
      ],
      users: [
        {
          name: 'u',
          user: { exec: { apiVersion: v1, command: plugin.command, interactiveMode: 'Never', ...exec, ...more } },
        },
      ],
    });
  const load = (more?: object) => {
    const source = { text: kubeconfig(more) };
    const config = RestConfig.fromKubeConfig(source, { logger: { warn: () => {} }, ...options });
    t.after(() => config.close());
    return config;
  };
  const config = load();
  const core = config.makeApiClient(CoreV1Api);
  const info = () => readFile(join(plugin.folder, 'info'), 'utf8');
  return { server, plugin, config, core, load, info };
}

/** The error of a config whose plugin gives no credential. */
async function failure(t: TestContext, parts: Parts): Promise<PluginError> {
  const { config } = await setUp(t, parts);
  const error: unknown = await config.ready().then(
    () => assert.fail('this gave a credential'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof PluginError, String(error));
  return error;
}

const config = 'client.authentication.k8s.io/exec';
const extensions = (extension: unknown) => ({ extensions: [{ name: config, extension }] });

describe('B. Building the authenticator', () => {
  test('B.14: v1 and v1beta1 are taken (v1alpha1 too: differs), anything else is refused', async (t) => {
    const { load } = await setUp(t);
    for (const version of ['v1', 'v1beta1', 'v1alpha1'])
      load({ apiVersion: `client.authentication.k8s.io/${version}` });
    for (const apiVersion of ['client.authentication.k8s.io/V1', 'v1', '', 'client.authentication.k8s.io/v2']) {
      assert.throws(() => load({ apiVersion }), ConfigurationError);
    }
  });

  test('B.18: a request with an Authorization of its own runs no plugin, and its 401 starts no refresh', async (t) => {
    const { server, plugin, config } = await setUp(t);
    for (const authorization of ['Bearer token-1', 'Basic eDp5', 'Bearer wrong']) {
      const { body } = await request(`${server.url}/version`, {
        dispatcher: config.dispatcher,
        headers: { authorization },
      });
      await body.dump();
    }
    assert.equal(await plugin.runs(), 0);
    assert.equal(server.stats.requests, 3);
  });

  test('B.23: two configs share nothing here (differs: there one process has one cache, never emptied)', async (t) => {
    const { plugin, config, load } = await setUp(t);
    await Promise.all([config.ready(), load().ready()]);
    assert.equal(await plugin.runs(), 2);
  });
});

describe('C. Cluster info', () => {
  test('C.26, C.27: spec.cluster is there with provideClusterInfo only, and has each field of the cluster', async (t) => {
    const fields = { 'tls-server-name': 'localhost', 'disable-compression': true, ...extensions({ a: 1 }) };
    const { server, core, info } = await setUp(t, { exec: { provideClusterInfo: true }, cluster: fields });
    await core.listNamespace();
    assert.deepEqual(JSON.parse(await info()).spec.cluster, {
      server: server.url,
      'tls-server-name': 'localhost',
      'certificate-authority-data': server.certificateAuthorityData,
      'disable-compression': true,
      config: { a: 1 },
    });
    const without = await setUp(t, { cluster: fields });
    await without.core.listNamespace();
    assert.deepEqual(JSON.parse(await without.info()).spec, { interactive: false });
  });

  test('C.28: the content of a file of authorities is handed over; data beside a file is refused, as by kubectl', async (t) => {
    const { server, load, info } = await setUp(t, { exec: { provideClusterInfo: true } });
    const folder = await temporaryFolder(t);
    const file = join(folder, 'ca.pem');
    await writeFile(file, server.certificateAuthority.certificate);
    const kubeconfig = JSON.parse(
      load()
        .exportConfig()
        .replace(
          `"certificate-authority-data":"${server.certificateAuthorityData}"`,
          `"certificate-authority":"${file}"`,
        ),
    );
    const fromFile = RestConfig.fromKubeConfig({ text: JSON.stringify(kubeconfig) });
    t.after(() => fromFile.close());
    await fromFile.makeApiClient(CoreV1Api).listNamespace();
    assert.equal(JSON.parse(await info()).spec.cluster['certificate-authority-data'], server.certificateAuthorityData);
    await assert.rejects(
      setUp(t, { cluster: { 'certificate-authority': file } }),
      /certificate-authority: cannot stand beside certificate-authority-data/,
    );
  });

  test('C.29: a proxy-url is handed over as it is, login and all; the proxies of the environment are not', async (t) => {
    const proxied = await setUp(t, {
      exec: { provideClusterInfo: true },
      cluster: { 'proxy-url': 'http://u:p@127.0.0.1:1' },
    });
    await proxied.config.ready();
    assert.equal(JSON.parse(await proxied.info()).spec.cluster['proxy-url'], 'http://u:p@127.0.0.1:1');
    process.env.HTTPS_PROXY = 'http://127.0.0.1:1';
    t.after(() => {
      delete process.env.HTTPS_PROXY;
    });
    const { config, info } = await setUp(t, { exec: { provideClusterInfo: true } });
    await config.ready();
    assert.ok(!('proxy-url' in JSON.parse(await info()).spec.cluster));
  });
});

describe('D. KUBERNETES_EXEC_INFO', () => {
  for (const version of ['v1', 'v1beta1']) {
    test(`D.30, D.31: is one line in this order for ${version} (without the line break at its end: differs)`, async (t) => {
      const apiVersion = `client.authentication.k8s.io/${version}`;
      const { config, info } = await setUp(t, { exec: { apiVersion }, code: print({ token: 't' }, { apiVersion }) });
      await config.ready();
      assert.equal(await info(), `{"kind":"ExecCredential","apiVersion":"${apiVersion}","spec":{"interactive":false}}`);
    });
  }

  for (const [extension, expected] of [
    [null, null],
    [{}, {}],
    [[1], [1]],
    ['text', 'text'],
    [0, 0],
    [false, false],
  ] as const) {
    test(`D.32: config is ${JSON.stringify(expected)} for ${JSON.stringify(extension)}`, async (t) => {
      const { config, info } = await setUp(t, {
        exec: { provideClusterInfo: true },
        cluster: extensions(extension),
      });
      await config.ready();
      const { cluster } = JSON.parse(await info()).spec;
      assert.deepEqual(cluster.config, expected);
      assert.ok(!('tls-server-name' in cluster) && !('insecure-skip-tls-verify' in cluster));
    });
  }

  test('D.34: config keeps the order of its keys; <, > and & are not escaped (differs: the same JSON)', async (t) => {
    const { config, info } = await setUp(t, {
      exec: { provideClusterInfo: true },
      cluster: extensions({ z: '<&>', a: { y: 1.5, b: 2 } }),
    });
    await config.ready();
    assert.match(await info(), /"config":\{"z":"<&>","a":\{"y":1\.5,"b":2\}\}/);
  });

  test('D.36: what the kernel does not take is an error, and nothing is spawned', async (t) => {
    const error = await failure(t, {
      exec: { provideClusterInfo: true },
      cluster: extensions({ large: 'x'.repeat(140_000) }),
    });
    assert.equal(error.code, 'PLUGIN_INPUT_TOO_LARGE');
  });
});

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

describe('G. Decoding stdout', () => {
  const text = (answer: string) => `cat <<'ANSWER'\n${answer}\nANSWER`;
  const pair = createCertificateAuthority().issue({ commonName: 'c', client: true });
  const other = createCertificateAuthority().issue({ commonName: 'o', client: true });
  const both = { clientCertificateData: pair.certificate, clientKeyData: pair.key };

  for (const [item, code] of [
    ['G.62: YAML, its first document', text(`apiVersion: ${v1}\nstatus: {token: token-1}\n---\nother: document`)],
    ['G.62: JSON after a byte order mark', text(`\uFEFF {"apiVersion":"${v1}","status":{"token":"token-1"}}`)],
    ['G.63: unknown fields', print({ token: 'token-1', other: 1 }, { more: [] })],
    ['G.63: a key twice, the last counting', text(`{"apiVersion":"${v1}","status":{"token":"x","token":"token-1"}}`)],
    [
      'G.63: a field twice, the last counting (differs: merged there)',
      text(`{"apiVersion":"${v1}","status":{"clientKeyData":"x"},"status":{"token":"token-1"}}`),
    ],
    [
      'G.62: a YAML version (differs: 1.1 alone is taken there)',
      text(`%YAML 1.2\n---\napiVersion: ${v1}\nstatus: {token: token-1}`),
    ],
    ['G.63: a key twice in YAML', text(`apiVersion: ${v1}\nstatus: {token: x, token: token-1}`)],
    [
      'G.63: the type in other letters',
      text(`{"APIVERSION":"${v1}","Kind":"ExecCredential","status":{"token":"token-1"}}`),
    ],
    ['G.64: null for text, which is empty', print({ token: 'token-1', clientKeyData: null })],
    ['G.65: no kind', text(`{"apiVersion":"${v1}","status":{"token":"token-1"}}`)],
    ['G.66: a spec, which is passed over', print({ token: 'token-1' }, { spec: { interactive: true } })],
    [
      'G.69: a chain, other text and line ends of Windows',
      print({
        token: 'token-1',
        ...both,
        clientCertificateData: `x\n${pair.certificate}${other.certificate}`.replaceAll('\n', '\r\n'),
      }),
    ],
  ] as const) {
    test(`${item}: is taken`, async (t) => {
      await (await setUp(t, { code })).core.listNamespace();
    });
  }

  for (const [item, code, expected] of [
    ['G.62: JSON with text behind it', text(`{"apiVersion":"${v1}","status":{"token":"t"}} more`), 'ANSWER_UNPARSABLE'],
    ['G.62: a log line first', text(`logging in\n{"apiVersion":"${v1}"}`), 'ANSWER_UNPARSABLE'],
    ['G.63: fields in other letters', text(`{"apiVersion":"${v1}","Status":{"token":"t"}}`), 'ANSWER_NO_STATUS'],
    ['G.64: a token that is a number', print({ token: 1 }), 'ANSWER_FIELD_INVALID'],
    ['G.64: a status that is a list', print([]), 'ANSWER_FIELD_INVALID'],
    [
      'G.64: !!binary (differs: decoded there)',
      text(`apiVersion: ${v1}\nstatus: {token: !!binary aGk=}`),
      'ANSWER_FIELD_INVALID',
    ],
    ['G.64: a spec that is text', print({ token: 't' }, { spec: 'x' }), 'ANSWER_FIELD_INVALID'],
    ['G.65: nothing', '', 'ANSWER_EMPTY'],
    ['G.65: an empty object', text('{}'), 'ANSWER_WRONG_VERSION'],
    ['G.65: null', text('null'), 'ANSWER_UNPARSABLE'],
    ['G.65: no version', text('{"kind":"ExecCredential","status":{"token":"t"}}'), 'ANSWER_WRONG_VERSION'],
    ['G.65: another version', print({ token: 't' }, { apiVersion: `${v1}beta1` }), 'ANSWER_WRONG_VERSION'],
    ['G.65: another kind', print({ token: 't' }, { kind: 'Status' }), 'ANSWER_WRONG_KIND'],
    ['G.67: no status', print(undefined), 'ANSWER_NO_STATUS'],
    ['G.67: an expiry alone', print({ expirationTimestamp: '2030-01-01T00:00:00Z' }), 'ANSWER_NO_CREDENTIAL'],
    ['G.67: a token with half a pair', print({ token: 't', clientKeyData: pair.key }), 'ANSWER_HALF_PAIR'],
    [
      'G.68: a token with a line break (differs: taken there, and every request fails)',
      print({ token: 'a\nb' }),
      'ANSWER_FIELD_INVALID',
    ],
    ['G.69: a key that does not fit', print({ ...both, clientKeyData: other.key }), 'ANSWER_KEY_MISMATCH'],
    [
      'G.69: a pair the wrong way round',
      print({ clientCertificateData: pair.key, clientKeyData: pair.certificate }),
      'ANSWER_FIELD_INVALID',
    ],
    [
      'G.70: an expiry without a zone',
      print({ token: 't', expirationTimestamp: '2030-01-01T00:00:00' }),
      'ANSWER_FIELD_INVALID',
    ],
  ] as const) {
    test(`${item}: is refused`, async (t) => {
      assert.equal((await failure(t, { code })).code, expected);
    });
  }

  test('G.68: a token is used verbatim, spaces and all', async (t) => {
    const { server, core } = await setUp(t, { code: print({ token: 'a  b ~' }) });
    server.setTokens({ 'a  b ~': 'me' });
    await core.listNamespace();
  });

  test('G.71: the zero time means never, in any zone', async (t) => {
    const expirationTimestamp = '0001-01-01T01:00:00+01:00';
    const { plugin, core } = await setUp(t, { code: print({ token: 'token-1', expirationTimestamp }) });
    for (let i = 0; i < 3; i++) await core.listNamespace();
    assert.equal(await plugin.runs(), 1);
  });
});

describe('H. Cache and expiry', () => {
  const now = Date.UTC(2030, 0);
  const at = (ms: number) => new Date(now + ms).toISOString();

  test('H.74: at its very expiry a credential is still good, a millisecond later it is not', async (t) => {
    const clock = { now };
    const code = print({ token: 'token-1', expirationTimestamp: at(60_000) });
    const { plugin, core } = await setUp(t, { code, options: { clock: () => clock.now } });
    await core.listNamespace();
    clock.now += 60_001;
    await core.listNamespace();
    assert.equal(await plugin.runs(), 2);
  });

  test('H.75: one that came expired is used, and held back like a failure (differs: a run for each request there)', async (t) => {
    const { plugin, core } = await setUp(t, {
      code: print({ token: 'token-1', expirationTimestamp: at(-600_000_000_000) }),
      options: { clock: () => now },
    });
    for (let i = 0; i < 5; i++) await core.listNamespace();
    assert.equal(await plugin.runs(), 1);
  });

  test('H.77: an answer without expiry clears an earlier one', async (t) => {
    const clock = { now };
    const first = print({ token: 'token-1', expirationTimestamp: at(60_000) });
    const code = `if [ "$(wc -l < "$DIR/runs")" = 1 ]; then\n${first}\nelse\n${print({ token: 'token-1' })}\nfi`;
    const { plugin, core } = await setUp(t, { code, options: { clock: () => clock.now } });
    for (let i = 0; i < 5; i++) {
      await core.listNamespace();
      clock.now += 600_000;
    }
    assert.equal(await plugin.runs(), 2);
  });

  test('H.78: concurrent requests cause one run', async (t) => {
    const { plugin, core } = await setUp(t);
    await Promise.all(Array.from({ length: 20 }, () => core.listNamespace()));
    assert.equal(await plugin.runs(), 1);
  });

  test('H.79: a failing plugin is held back (differs: a run for each request there)', async (t) => {
    const { plugin, core } = await setUp(t, { code: 'exit 1' });
    for (let i = 0; i < 5; i++) await assert.rejects(core.listNamespace());
    assert.equal(await plugin.runs(), 1);
  });

  test('H.80: a pair that does not fit leaves expiry and credential as they were (differs)', async (t) => {
    const clock = { now };
    const pair = createCertificateAuthority().issue({ commonName: 'c', client: true });
    const other = createCertificateAuthority().issue({ commonName: 'o', client: true });
    const good = print({ token: 'token-1', expirationTimestamp: at(60_000) });
    const bad = print({ clientCertificateData: pair.certificate, clientKeyData: other.key });
    const code = `if [ "$(wc -l < "$DIR/runs")" = 1 ]; then\n${good}\nelse\n${bad}\nfi`;
    const { config, core } = await setUp(t, { code, options: { clock: () => clock.now } });
    await core.listNamespace();
    clock.now += 60_001;
    await assert.rejects(config.ready(), { code: 'ANSWER_KEY_MISMATCH' });
  });
});

describe('I. The request path and 401', () => {
  const counted = `echo x >> "$DIR/count"; n=$(wc -l < "$DIR/count")\nprintf '{"apiVersion":"${v1}","status":{"token":"token-%s"}}' $n`;

  test('I.82: a 401 makes the plugin run, and the request is replayed once (differs: handed back there)', async (t) => {
    const { server, plugin, core } = await setUp(t, { code: counted });
    await core.listNamespace();
    server.setTokens({ 'token-2': 'me' });
    await core.listNamespace();
    assert.equal(await plugin.runs(), 2);
  });

  for (const status of [400, 403, 404, 500]) {
    test(`I.82: a ${status} does nothing`, async (t) => {
      const { server, plugin, core } = await setUp(t);
      await core.listNamespace();
      server.failNext(status);
      await assert.rejects(core.listNamespace());
      assert.equal(await plugin.runs(), 1);
    });
  }

  test('I.83: ten concurrent 401s cause one run', async (t) => {
    const { server, plugin, core } = await setUp(t, { code: counted });
    await core.listNamespace();
    server.setTokens({ 'token-2': 'me' });
    await Promise.all(Array.from({ length: 10 }, () => core.listNamespace()));
    assert.equal(await plugin.runs(), 2);
  });

  test('I.84: when the refresh fails the 401 is handed over, and the old credential stays', async (t) => {
    const code = `if [ "$(wc -l < "$DIR/runs")" = 1 ]; then\n${print({ token: 'token-1' })}\nelse exit 1; fi`;
    const { server, core } = await setUp(t, { code });
    await core.listNamespace();
    server.failNext(401);
    await assert.rejects(core.listNamespace(), { code: 401 });
    await core.listNamespace();
  });
});

describe('J. TLS', () => {
  test('J.86: a credential without a certificate makes a handshake without one', async (t) => {
    const { server, core } = await setUp(t);
    await core.listNamespace();
    assert.equal(server.stats.byIdentity.get('me'), 1);
  });

  test('J.87: a new token keeps the connection, a new certificate gets one of its own, streams go on (differs)', async (t) => {
    const { server, config, core, plugin } = await setUp(t, { code: 'cat "$DIR/answer"' });
    const certificate = (commonName: string) => {
      const pair = server.certificateAuthority.issue({ commonName, client: true });
      return { clientCertificateData: pair.certificate, clientKeyData: pair.key };
    };
    const answer = (status: object) =>
      writeFile(join(plugin.folder, 'answer'), JSON.stringify({ apiVersion: v1, status }));
    server.setTokens({ a: 'a', b: 'b' });
    const connections: number[] = [];
    const same = certificate('same');
    for (const status of [{ token: 'a' }, { token: 'b' }, same, same, certificate('other'), { token: 'a' }]) {
      await answer(status);
      config.invalidate();
      await core.listNamespace();
      connections.push(server.stats.connections);
    }
    // The pool without a certificate is kept for whoever needs none.
    assert.deepEqual(connections, [1, 1, 2, 2, 3, 3]);
    assert.deepEqual([...server.stats.byIdentity.keys()], ['a', 'b', 'same', 'other']);
  });
});
