// The items of client-go's behaviour that concern a kubeconfig carry their letters and numbers: A.1 to A.13, B.17.
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { CoreV1Api } from '@kubernetes/client-node';
import { request } from 'undici';
import { ConfigurationError, type KubeconfigOptions, PluginError, RestConfig } from '../../src/index.ts';
import { createCertificateAuthority, type FakeCluster, type SeenRequest } from '../../src/testing/index.ts';
import { caData } from '../fixtures/ca.ts';
import { startCluster, startPlugin } from '../fixtures/fleet.ts';
import { startHttpProxy } from '../fixtures/proxies.ts';
import { print, shellPlugin, temporaryFolder } from '../fixtures/script.ts';

const v1 = 'client.authentication.k8s.io/v1';

interface Parts {
  readonly cluster?: object;
  readonly user?: object;
  readonly exec?: object | null;
  readonly more?: object;
}

/** A kubeconfig with one context; `exec` is for the user. */
function kubeconfig({ cluster = {}, user = {}, exec = {}, more = {} }: Parts): string {
  const defaults = { apiVersion: v1, command: 'plugin', interactiveMode: 'Never' };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'bob' } }],
    clusters: [{ name: 'k', cluster: { server: 'https://h:1', ...cluster } }],
    users: [{ name: 'bob', user: { exec: exec && { ...defaults, ...exec }, ...user } }],
    ...more,
  });
}

function load(t: TestContext, parts: Parts | string, options: KubeconfigOptions = {}): RestConfig {
  const text = typeof parts === 'string' ? parts : kubeconfig(parts);
  const config = RestConfig.fromKubeConfig({ text }, { logger: { warn: () => {} }, ...options });
  t.after(() => config.close());
  return config;
}

function problemsOf(parts: Parts | string, options: KubeconfigOptions = {}): string {
  try {
    RestConfig.fromKubeConfig({ text: typeof parts === 'string' ? parts : kubeconfig(parts) }, options);
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    assert.equal(error.code, 'KUBECONFIG_INVALID');
    return error.message;
  }
  return assert.fail('this kubeconfig was taken');
}

const clusterOf = (cluster: FakeCluster) => ({
  server: cluster.url,
  'certificate-authority-data': cluster.certificateAuthorityData,
});
const namespaces = async (config: RestConfig) => (await config.makeApiClient(CoreV1Api).listNamespace()).items.length;

/** The headers that the server sees of one request. */
async function headersOf(cluster: FakeCluster, config: RestConfig): Promise<SeenRequest['headers']> {
  const seen = new Promise<SeenRequest>((resolve) => {
    cluster.onRequest = resolve;
  });
  await namespaces(config).catch(() => 0);
  return (await seen).headers;
}

describe('a kubeconfig with user.exec', () => {
  test('authenticates: one run, one connection for 50 first requests', async (t) => {
    const cluster = await startCluster(t);
    const plugin = await startPlugin(t);
    const config = load(t, { cluster: clusterOf(cluster), exec: { command: plugin.command } });
    assert.deepEqual(await Promise.all(Array.from({ length: 50 }, () => namespaces(config))), Array(50).fill(2));
    assert.equal(await plugin.runs(), 1);
    assert.equal(cluster.stats.connections, 1);
    assert.equal(config.currentContext, 'c');
    assert.equal(config.getCurrentUser()?.exec, undefined);
  });

  test('hands the plugin what client-go hands it: cluster, extension, arguments, variables', async (t) => {
    const cluster = await startCluster(t);
    const plugin = await shellPlugin(
      t,
      `printf '%s' "$KUBERNETES_EXEC_INFO" > "$DIR/info"; printf '%s' "$1,$A$EMPTY" > "$DIR/words"\n${print({ token: 'token-1' })}`,
    );
    const extensions = [
      { name: 'other', extension: 1 },
      { name: 'client.authentication.k8s.io/exec', extension: { audience: 'x', deep: [1, null, { a: true }] } },
    ];
    const config = load(t, {
      cluster: { ...clusterOf(cluster), extensions, 'disable-compression': true },
      exec: {
        command: plugin.command,
        args: ['one'],
        env: [{ name: 'A', value: 'a' }, { name: 'A', value: 'b' }, { name: 'EMPTY' }],
        provideClusterInfo: true,
        installHint: null,
        unknownField: 1,
      },
    });
    await namespaces(config);
    assert.deepEqual(JSON.parse(await readFile(join(plugin.folder, 'info'), 'utf8')), {
      kind: 'ExecCredential',
      apiVersion: v1,
      spec: {
        cluster: {
          ...clusterOf(cluster),
          'disable-compression': true,
          config: { audience: 'x', deep: [1, null, { a: true }] },
        },
        interactive: false,
      },
    });
    assert.equal(await readFile(join(plugin.folder, 'words'), 'utf8'), 'one,b');
  });

  test('names the file and the user when its plugin fails', async (t) => {
    const folder = await temporaryFolder(t);
    const path = join(folder, 'config');
    await writeFile(path, kubeconfig({ exec: { command: './nothing-here' } }));
    const config = RestConfig.fromKubeConfig({ path });
    t.after(() => config.close());
    await assert.rejects(config.ready(), (error) => {
      assert.ok(error instanceof PluginError);
      assert.equal(error.provider, 'kubeconfig');
      assert.match(error.message, /^kubeconfig \/.*\/config, user bob: plugin \/.*\/nothing-here: was not found/);
      return true;
    });
  });

  test('closing it ends what it uses; streams under way go on', async (t) => {
    const cluster = await startCluster(t);
    const plugin = await startPlugin(t);
    const config = load(t, { cluster: clusterOf(cluster), exec: { command: plugin.command } });
    const { body } = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: config.dispatcher });
    await config.close();
    await assert.rejects(config.ready(), { code: 'CONFIG_CLOSED' });
    cluster.emit('ADDED', 'after-close');
    for await (const chunk of body) if (String(chunk).includes('after-close')) break;
    while (cluster.stats.openConnections > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  test('a context may be chosen; others may be broken', async (t) => {
    const more = {
      contexts: [
        { name: 'c', context: { cluster: 'gone', user: 'gone' } },
        { name: 'staging', context: { cluster: 'k', user: 'bob' } },
      ],
      users: [
        { name: 'broken', user: { exec: { command: 5 } } },
        { name: 'bob', user: { exec: { apiVersion: v1, command: 'p', interactiveMode: 'Never' } } },
      ],
    };
    assert.equal(load(t, { more }, { context: 'staging' }).currentContext, 'staging');
    assert.match(
      problemsOf({ more }),
      /contexts\[0\]\.context\.cluster: names "gone", which is not in clusters; there are k/,
    );
    assert.match(problemsOf({ more }, { context: 'stagin' }), /option context: .*did you mean staging\?/);
  });

  test('exportConfig gives a kubeconfig with the same exec, extension and impersonation, and no credential', (t) => {
    const extension = { name: 'client.authentication.k8s.io/exec', extension: { a: 1 } };
    const user = {
      as: 'josé',
      'as-uid': 'u',
      'as-groups': ['g1', 'g2'],
      'as-user-extra': { 'a/b': ['x'] },
      token: 'SECRET-t',
    };
    const config = load(t, { cluster: { extensions: [extension] }, user, exec: { provideClusterInfo: true } });
    const exported = config.exportConfig();
    assert.ok(!exported.includes('SECRET'));
    const again = JSON.parse(load(t, exported).exportConfig());
    assert.deepEqual(again, JSON.parse(exported));
    const { exec, ...others } = again.users[0].user;
    assert.deepEqual(exec, {
      apiVersion: v1,
      command: 'plugin',
      args: [],
      env: [],
      provideClusterInfo: true,
      interactiveMode: 'Never',
    });
    assert.deepEqual(others, {
      as: 'josé',
      'as-uid': 'u',
      'as-groups': ['g1', 'g2'],
      'as-user-extra': { 'a/b': ['x'] },
    });
    assert.deepEqual(again.clusters[0].cluster.extensions, [extension]);
  });
});

describe('paths (A.12)', () => {
  test('start from the folder of the kubeconfig, for the command, the authority and the user alike', async (t) => {
    const cluster = await startCluster(t);
    const folder = await temporaryFolder(t);
    const plugin = await startPlugin(t);
    await mkdir(join(folder, 'bin'));
    await writeFile(join(folder, 'bin', 'plugin'), `#!/bin/sh\nexec '${plugin.command}'\n`, { mode: 0o755 });
    await writeFile(join(folder, 'ca.pem'), cluster.certificateAuthority.certificate);
    const path = join(folder, 'config');
    const text = kubeconfig({
      cluster: { server: cluster.url, 'certificate-authority': 'ca.pem' },
      exec: { command: 'bin/plugin' },
    });
    await writeFile(path, text);
    for (const source of [{ path }, { text, directory: folder }]) {
      const config = RestConfig.fromKubeConfig(source);
      t.after(() => config.close());
      assert.equal(config.access.exec.command, join(folder, 'bin/plugin'));
      assert.equal(await namespaces(config), 2);
    }
  });

  test('stay as they are for a text without a folder, and a bare name always does', (t) => {
    assert.equal(load(t, { exec: { command: './bin/plugin' } }).access.exec.command, './bin/plugin');
    const directory = '/somewhere';
    const config = RestConfig.fromKubeConfig({ text: kubeconfig({ exec: { command: 'plugin' } }), directory });
    assert.equal(config.access.exec.command, 'plugin');
    const home = RestConfig.fromKubeConfig({ text: kubeconfig({ exec: { command: '~/plugin' } }), directory });
    assert.equal(home.access.exec.command, '/somewhere/~/plugin');
  });
});

describe('interactiveMode (A.2)', () => {
  for (const version of ['v1beta1', 'v1alpha1']) {
    test(`is IfAvailable where ${version} leaves it out`, (t) => {
      const apiVersion = `client.authentication.k8s.io/${version}`;
      const { exec } = load(t, { exec: { apiVersion, interactiveMode: undefined } }).access;
      assert.equal(exec.interactiveMode, 'IfAvailable');
    });
  }
  test('has to be there in v1', () => {
    assert.match(
      problemsOf({ exec: { interactiveMode: undefined } }),
      /users\[0\]\.user\.exec\.interactiveMode: is missing/,
    );
    assert.match(problemsOf({ exec: { interactiveMode: '' } }), /interactiveMode: is missing/);
    assert.match(problemsOf({ exec: { interactiveMode: 'never' } }), /must be one of .*did you mean Never\?/);
  });
});

describe('what stands beside exec (A.7, B.17)', () => {
  const token = (user: object) => ({ user, exec: { command: '/never/run' } });

  test('a token, a token file and a user name keep the plugin from being run', async (t) => {
    const cluster = await startCluster(t, { tokens: { static: 'by-token', 'from file': 'by-file' } });
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'token'), ' from file\n');
    for (const [user, authorization] of [
      [{ token: 'static' }, 'Bearer static'],
      [{ tokenFile: join(folder, 'token') }, 'Bearer from file'],
      [{ token: 'static', tokenFile: join(folder, 'token') }, 'Bearer from file'],
      [{ username: 'u', password: 'p:w' }, `Basic ${Buffer.from('u:p:w').toString('base64')}`],
    ] as const) {
      const config = load(t, { cluster: clusterOf(cluster), ...token(user) });
      assert.equal((await headersOf(cluster, config)).authorization, authorization);
      assert.match(config.access.ignored[0]?.reason ?? '', /has a credential of its own/);
    }
  });

  test('a certificate with its key does, from files and from data; its files are read again', async (t) => {
    const cluster = await startCluster(t);
    const folder = await temporaryFolder(t);
    const write = async (commonName: string) => {
      const pair = cluster.certificateAuthority.issue({ commonName, client: true });
      await writeFile(join(folder, 'cert'), pair.certificate);
      await writeFile(join(folder, 'key'), pair.key);
      return pair;
    };
    const pair = await write('one');
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const data = { 'client-certificate-data': base64(pair.certificate), 'client-key-data': base64(pair.key) };
    const config = load(t, { cluster: clusterOf(cluster), ...token(data) });
    await namespaces(config);
    assert.equal(cluster.stats.byIdentity.get('one'), 1);

    const clock = { now: 0 };
    const files = { 'client-certificate': join(folder, 'cert'), 'client-key': join(folder, 'key') };
    const text = kubeconfig({ cluster: clusterOf(cluster), ...token(files) });
    const warnings: string[] = [];
    const logger = { warn: (_fields: object, message: string) => warnings.push(message) };
    const rotating = load(t, text, { clock: () => clock.now, logger });
    await namespaces(rotating);
    await write('two');
    await namespaces(rotating);
    assert.equal(cluster.stats.byIdentity.get('one'), 3);
    clock.now += 60_001;
    while (!cluster.stats.byIdentity.has('two')) await namespaces(rotating);
    await rm(join(folder, 'key'));
    clock.now += 60_001;
    while (warnings.length === 0) await namespaces(rotating);
    assert.match(warnings[0] ?? '', /kubeconfig, user bob: client-key: .* cannot be read \(ENOENT\); .* serves on/);
  });

  test('a certificate file that is a symbolic link into a mount follows the mount', async (t) => {
    const folder = await temporaryFolder(t);
    const cluster = await startCluster(t, { tokens: { new: 'n', old: 'o' } });
    for (const name of ['old', 'new']) {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, 'token'), name);
    }
    await symlink('old', join(folder, 'data'));
    const clock = { now: 0 };
    const options = { clock: () => clock.now };
    const config = load(
      t,
      { cluster: clusterOf(cluster), ...token({ tokenFile: join(folder, 'data/token') }) },
      options,
    );
    await namespaces(config);
    await rm(join(folder, 'data'));
    await symlink('new', join(folder, 'data'));
    clock.now += 60_001;
    while (!cluster.stats.byIdentity.has('n')) await namespaces(config);
    assert.equal(cluster.stats.unauthorized, 0);
  });

  test('whose file fails while nobody waits for it, and has been forgotten meanwhile, ends no process', async (t) => {
    const folder = await temporaryFolder(t);
    const cluster = await startCluster(t, { tokens: { good: 'me' } });
    await writeFile(join(folder, 'token'), 'good');
    const clock = { now: 0 };
    const parts = { cluster: clusterOf(cluster), ...token({ tokenFile: join(folder, 'token') }) };
    const config = load(t, parts, { clock: () => clock.now });
    await config.ready();
    await rm(join(folder, 'token'));
    clock.now += 60_001;
    // The old one is given at once, and the file is read behind it.
    await config.ready();
    config.invalidate();
    // By the time that twenty others have failed, that one has.
    for (let i = 0; i < 20; i++) await assert.rejects(readFile(join(folder, 'token')));
    await assert.rejects(config.ready(), /cannot be read \(ENOENT\)/);
  });

  test('is read again when the clock is set back', async (t) => {
    const folder = await temporaryFolder(t);
    const cluster = await startCluster(t, { tokens: { one: '1', two: '2' } });
    await writeFile(join(folder, 'token'), 'one');
    const clock = { now: 1_000_000_000 };
    const parts = { cluster: clusterOf(cluster), ...token({ tokenFile: join(folder, 'token') }) };
    const config = load(t, parts, { clock: () => clock.now });
    await namespaces(config);
    await writeFile(join(folder, 'token'), 'two');
    clock.now = 0;
    while (!cluster.stats.byIdentity.has('2')) await namespaces(config);
  });

  test('a password alone, or a key alone, does not', async (t) => {
    const cluster = await startCluster(t);
    const plugin = await startPlugin(t);
    for (const user of [{ password: 'p' }, { 'client-key': '/nowhere' }]) {
      const before = await plugin.runs();
      await namespaces(load(t, { cluster: clusterOf(cluster), user, exec: { command: plugin.command } }));
      assert.equal(await plugin.runs(), before + 1);
    }
  });

  test('a 401 to a static credential starts nothing', async (t) => {
    const cluster = await startCluster(t);
    const config = load(t, { cluster: clusterOf(cluster), ...token({ token: 'refused' }) });
    await assert.rejects(namespaces(config), { code: 401 });
    assert.equal(cluster.stats.requests, 1);
  });

  test('a file that is missing, and a pair that does not fit, reject the request and say which', async (t) => {
    const rejected = async (user: object) => {
      const error: unknown = await load(t, token(user))
        .ready()
        .then(
          () => undefined,
          (reason) => reason,
        );
      assert.ok(error instanceof ConfigurationError);
      return error.message;
    };
    assert.match(
      await rejected({ tokenFile: '/nowhere/token' }),
      /user bob: tokenFile: \/nowhere\/token cannot be read/,
    );
    const authority = createCertificateAuthority();
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const pair = {
      'client-certificate-data': base64(authority.issue({ commonName: 'a' }).certificate),
      'client-key-data': base64(authority.issue({ commonName: 'b' }).key),
    };
    assert.match(await rejected(pair), /client-certificate: it has a client key that does not fit its certificate/);
  });
});

describe('impersonation', () => {
  const user = {
    as: 'jane',
    'as-uid': 'u-1',
    'as-groups': ['dev', 'ops'],
    'as-user-extra': { 'Acme.com/Project': ['p1', 'p2'] },
  };

  test('sends each header, each group on its own, and a name in the form that the API server decodes', async (t) => {
    const cluster = await startCluster(t);
    const plugin = await startPlugin(t);
    const config = load(t, { cluster: clusterOf(cluster), user, exec: { command: plugin.command } });
    const headers = await headersOf(cluster, config);
    assert.equal(headers['impersonate-user'], 'jane');
    assert.equal(headers['impersonate-uid'], 'u-1');
    // Two header lines, as Node joins them; on HTTP/2 undici would have sent one.
    assert.equal(headers['impersonate-group'], 'dev, ops');
    assert.equal(headers['impersonate-extra-acme.com%2fproject'], 'p1, p2');
    assert.equal(headers.authorization, 'Bearer token-1');
  });

  test('sends names as UTF-8', async (t) => {
    const cluster = await startCluster(t);
    const plugin = await startPlugin(t);
    const config = load(t, { cluster: clusterOf(cluster), user: { as: 'josé' }, exec: { command: plugin.command } });
    const { 'impersonate-user': sent } = await headersOf(cluster, config);
    assert.equal(Buffer.from(String(sent), 'latin1').toString(), 'josé');
  });

  test('stays on HTTP/2 where no header is repeated, and leaves one that the caller sets alone', async (t) => {
    const cluster = await startCluster(t);
    const plugin = await startPlugin(t);
    const config = load(t, { cluster: clusterOf(cluster), user: { as: 'jane' }, exec: { command: plugin.command } });
    const seen: SeenRequest['headers'][] = [];
    cluster.onRequest = ({ headers }) => seen.push(headers);
    await namespaces(config);
    const { body } = await request(`${cluster.url}/version`, {
      dispatcher: config.dispatcher,
      headers: { 'Impersonate-User': 'joe' },
    });
    await body.dump();
    assert.deepEqual(
      seen.map((headers) => [headers['impersonate-user'], headers[':scheme']]),
      [
        ['jane', 'https'],
        ['joe', 'https'],
      ],
    );
  });
});

describe('a proxy-url with a login', () => {
  test('is used, and its password is nowhere to be seen', async (t) => {
    const cluster = await startCluster(t);
    const plugin = await startPlugin(t);
    const proxy = await startHttpProxy(t, { login: 'me:SECRET-pw' });
    const exec = { command: plugin.command, provideClusterInfo: true };
    const config = load(t, { cluster: { ...clusterOf(cluster), 'proxy-url': proxy.url }, exec });
    assert.equal(await namespaces(config), 2);
    assert.equal(proxy.targets.length, 1);
    const shown = [inspect(config, { depth: 9, showHidden: true }), JSON.stringify(config), config.exportConfig()];
    assert.deepEqual(
      shown.filter((text) => text.includes('SECRET')),
      [],
    );
    assert.equal(config.access.cluster.proxyUrl, proxy.url.replace('me:SECRET-pw@', ''));
  });

  test('is redacted where the plugin prints it', async (t) => {
    const plugin = await shellPlugin(t, 'echo "login me SECRET-pw failed" >&2; exit 1');
    const exec = { command: plugin.command, provideClusterInfo: true };
    const config = load(t, { cluster: { 'proxy-url': 'http://me:SECRET-pw@127.0.0.1:1' }, exec });
    await assert.rejects(config.ready(), (error) => {
      assert.ok(error instanceof PluginError);
      assert.match(error.message, /login me \[redacted\] failed/);
      return true;
    });
  });

  test('whose % encodes nothing is an error of the proxy', async (t) => {
    const cluster = await startCluster(t);
    const plugin = await startPlugin(t);
    const proxied = { ...clusterOf(cluster), 'proxy-url': 'http://me:100%@127.0.0.1:1' };
    const config = load(t, { cluster: proxied, exec: { command: plugin.command } });
    await assert.rejects(namespaces(config), (error: Error) => {
      return Reflect.get(Object(error.cause), 'code') === 'PROXY_INVALID';
    });
  });
});

describe('a kubeconfig that cannot be used', () => {
  for (const [name, parts, message] of [
    ['is no YAML', '{', /^kubeconfig: line 1: is neither JSON nor YAML/],
    ['is empty', '', /is empty/],
    ['is a list', '[]', /must be an object/],
    ['has no context', { more: { 'current-context': '' } }, /line 1: current-context: is missing; there are c/],
    [
      'has two users of one name',
      { more: { users: [{ name: 'bob' }, { name: 'bob' }] } },
      /users\[1\]\.name: "bob" already stands at users\[0\]/,
    ],
    ['has no server', { cluster: { server: '' } }, /clusters\[0\]\.cluster\.server: is missing/],
    ['has a server without TLS (A.8)', { cluster: { server: 'http://h' } }, /credentials are sent over https only/],
    ['has a server without a scheme (A.8)', { cluster: { server: 'h:443' } }, /is not an https:\/\/ URL/],
    [
      'has an authority and no verification (L.89)',
      { cluster: { 'insecure-skip-tls-verify': true, 'certificate-authority-data': caData } },
      /cannot stand beside insecure-skip-tls-verify/,
    ],
    [
      'has an authority that cannot be read (C.28)',
      { cluster: { 'certificate-authority': '/nowhere/ca' } },
      /\/nowhere\/ca cannot be read \(ENOENT\)/,
    ],
    [
      'has an ftp proxy (A.13)',
      { cluster: { 'proxy-url': 'ftp://p' } },
      /proxy-url: must be an http:\/\/, https:\/\/ or socks5:\/\/ URL/,
    ],
    ['has no exec', { exec: null }, /users\[0\]\.user: has no exec/],
    [
      'has an auth-provider beside exec (A.4)',
      { user: { 'auth-provider': { name: 'gcp' } } },
      /auth-provider: cannot stand beside exec/,
    ],
    ['has no command (A.4)', { exec: { command: '' } }, /users\[0\]\.user\.exec\.command: must be/],
    ['has no version (A.4)', { exec: { apiVersion: '' } }, /users\[0\]\.user\.exec\.apiVersion: must be one of/],
    [
      'has a variable without a name (A.4)',
      { exec: { env: [{ name: '', value: 'x' }] } },
      /env\[0\]\.name: is an empty name/,
    ],
    ['has an exec of nothing (A.6)', { user: { exec: {} } }, /exec\.apiVersion: .*[\s\S]*exec\.command: /],
    [
      'has a token and a user name (A.7)',
      { user: { token: 't', username: 'u' } },
      /username: cannot stand beside a token/,
    ],
    ['has a certificate without a key', { user: { 'client-certificate': '/c' } }, /stands without client-key/],
    ['has a key that is no base64', { user: { 'client-key-data': '%' } }, /client-key-data: is not base64/],
    ['has groups and nobody to impersonate', { user: { 'as-groups': ['g'] } }, /user\.as: is missing/],
    [
      'has two extensions of one name (A.11)',
      { cluster: { extensions: [{ name: 'a' }, { name: 'a' }] } },
      /extensions\[1\]\.name: "a" stands here a second time/,
    ],
    [
      'has a number that lost digits',
      kubeconfig({}).replace(
        '"https://h:1"',
        '"https://h:1","extensions":[{"name":"client.authentication.k8s.io/exec","extension":{"n":12345678901234567890}}]',
      ),
      /extension\.n: is an integer beyond 2\^53/,
    ],
  ] as const) {
    test(`because it ${name} is refused, with the place`, () => assert.match(problemsOf(parts), message));
  }

  test('is reported with every problem at once, and its lines', () => {
    const text = [
      'current-context: c',
      'contexts: [{name: c, context: {cluster: k, user: u}}]',
      'clusters:',
      '- name: k',
      '  cluster: {server: "https://h", proxy-url: 5}',
      'users:',
      '- name: u',
      '  user:',
      '    exec: {apiVersion: v9, args: {}}',
      '    as-groups: x',
    ].join('\n');
    const message = problemsOf(text);
    assert.match(message, /^kubeconfig: 5 problems:/);
    assert.match(message, /line 5: clusters\[0\]\.cluster\.proxy-url: /);
    assert.match(message, /line 9: users\[0\]\.user\.exec\.args: /);
    assert.match(message, /line 10: users\[0\]\.user\.as-groups: /);
  });

  test('or is not there is said at once, and a wrong argument too', () => {
    const thrown = (source: object, options: object = {}) => {
      try {
        Reflect.apply(RestConfig.fromKubeConfig, RestConfig, [source, options]);
      } catch (error) {
        assert.ok(error instanceof ConfigurationError);
        return `${error.code}: ${error.message}`;
      }
      return assert.fail('taken');
    };
    assert.match(
      thrown({ path: '/nowhere/config' }),
      /^KUBECONFIG_UNREADABLE: kubeconfig \/nowhere\/config: does not exist/,
    );
    assert.match(thrown({}), /^OPTION_INVALID: .*must be \{ path \} or \{ text, directory \}/);
    assert.match(thrown({ pat: 'x' }), /did you mean path\?/);
    assert.match(thrown({ text: kubeconfig({}) }, { timeoutMS: 1 }), /did you mean timeoutMs\?/);
    assert.match(thrown({ text: kubeconfig({}) }, { context: 1 }), /context: must be a name/);
  });
});

describe('values', () => {
  test('of an extension are read as Kubernetes reads YAML (A.11)', (t) => {
    const text = `${kubeconfig({}).replace('"https://h:1"', '"https://h:1","extensions":[{"name":"client.authentication.k8s.io/exec","extension":EXT}]')}`;
    const config = load(
      t,
      text.replace('EXT', '{"a": yes, "b": 0x10, "c": 2.50, "d": 1e3, "e": 1:30, "f": 2020-01-02}'),
    );
    assert.deepEqual(config.access.exec.config, { a: true, b: 16, c: 2.5, d: 1000, e: '1:30', f: '2020-01-02' });
  });

  test('of an installHint that do not belong in a terminal are spelled out (A.10)', async (t) => {
    const hint = 'get it:\n\u001b[31m \u007f\u00ad\u200b ☃ é';
    const config = load(t, { exec: { installHint: hint } });
    assert.equal(config.access.exec.installHint, 'get it:\nU+001B[31m U+007FU+00ADU+200B ☃ é');
  });

  test('of a static credential are nowhere to be seen', async (t) => {
    const cluster = await startCluster(t, { tokens: { 'SECRET-token': 'me' } });
    const config = load(t, { cluster: clusterOf(cluster), user: { token: 'SECRET-token' } });
    await namespaces(config);
    const shown = [inspect(config, { depth: 9, showHidden: true }), JSON.stringify(config), config.exportConfig()];
    assert.deepEqual(
      shown.filter((text) => text.includes('SECRET')),
      [],
    );
  });
});
