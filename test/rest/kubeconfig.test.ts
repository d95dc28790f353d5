// The items of client-go's behaviour that concern a kubeconfig carry their letters and numbers: A.1 to A.13, B.17.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import { request } from 'undici';
import { RestConfig } from '../../src/index.ts';
import { newNamespace, startCluster, startPlugin } from '../fixtures/fleet.ts';
import { clusterOf, kubeconfig, load, namespaces, problemsOf, v1 } from '../fixtures/kubeconfigs.ts';
import { writeInput } from '../fixtures/program.ts';
import { startHttpProxy } from '../fixtures/proxies.ts';
import { print, shellPlugin, temporaryFolder } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';

describe('a kubeconfig with user.exec', () => {
  test('hands the plugin what client-go hands it: cluster, extension, arguments, variables', async (t) => {
    const cluster = await startCluster(t);
    const code = `printf '%s' "$KUBERNETES_EXEC_INFO" > "$DIR/info"; printf '%s' "$1,$A$EMPTY" > "$DIR/words"`;
    const plugin = await shellPlugin(t, `${code}\n${print({ token: 'token-1' })}`);
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
    const path = await writeInput(t, 'config', kubeconfig({ exec: { command: './nothing-here' } }));
    const config = RestConfig.fromKubeConfig({ path });
    t.after(() => config.close());
    const message = /^kubeconfig \/.*\/config, user bob: plugin \/.*\/nothing-here: was not found/;
    await assert.rejects(config.ready(), { name: 'PluginError', provider: 'kubeconfig', message });
  });

  test('closing it ends what it uses; streams under way go on', async (t) => {
    const cluster = await startCluster(t);
    const plugin = await startPlugin(t);
    const config = load(t, { cluster: clusterOf(cluster), exec: { command: plugin.command } });
    const { body } = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: config.dispatcher });
    await config.close();
    const message = /: this config .* \(getConfig, fromKubeConfig/;
    await assert.rejects(config.ready(), { code: 'CONFIG_CLOSED', message });
    cluster.add(newNamespace('after-close'));
    for await (const chunk of body) if (String(chunk).includes('after-close')) break;
    await until(t, () => cluster.stats.openConnections <= 0);
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
    const missing = /contexts\[0\]\.context\.cluster: names "gone", which is not in clusters \(found: k\)/;
    assert.match(problemsOf({ more }), missing);
    assert.match(problemsOf({ more }, { context: 'stagin' }), /option context: .*did you mean staging\?/);
  });

  test('exportConfig gives a kubeconfig with the same exec, extension and impersonation, and no credential', (t) => {
    const extension = { name: 'client.authentication.k8s.io/exec', extension: { a: 1 } };
    const as = { as: 'josé', 'as-uid': 'u', 'as-groups': ['g1', 'g2'], 'as-user-extra': { 'a/b': ['x'] } };
    const user = { ...as, token: 'SECRET-t' };
    const config = load(t, { cluster: { extensions: [extension] }, user, exec: { provideClusterInfo: true } });
    const exported = config.exportConfig();
    assert.ok(!exported.includes('SECRET'));
    const again = JSON.parse(load(t, exported).exportConfig());
    assert.deepEqual(again, JSON.parse(exported));
    const { exec, ...others } = again.users[0].user;
    const lists = { args: [], env: [] };
    const plugin = { apiVersion: v1, command: 'plugin', provideClusterInfo: true, interactiveMode: 'Never' };
    assert.deepEqual(exec, { ...plugin, ...lists });
    assert.deepEqual(others, as);
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
    const trusted = { server: cluster.url, 'certificate-authority': 'ca.pem' };
    const text = kubeconfig({ cluster: trusted, exec: { command: 'bin/plugin' } });
    await writeFile(path, text);
    for (const source of [{ path }, { text, directory: folder }]) {
      const config = RestConfig.fromKubeConfig(source);
      t.after(() => config.close());
      assert.equal(config.access.exec?.command, join(folder, 'bin/plugin'));
      assert.equal(await namespaces(config), 2);
    }
  });

  test('stay as they are for a text without a folder, and a bare name always does', (t) => {
    assert.equal(load(t, { exec: { command: './bin/plugin' } }).access.exec?.command, './bin/plugin');
    const directory = '/somewhere';
    const config = RestConfig.fromKubeConfig({ text: kubeconfig({ exec: { command: 'plugin' } }), directory });
    assert.equal(config.access.exec?.command, 'plugin');
    const home = RestConfig.fromKubeConfig({ text: kubeconfig({ exec: { command: '~/plugin' } }), directory });
    assert.equal(home.access.exec?.command, '/somewhere/~/plugin');
  });
});

describe('interactiveMode (A.2)', () => {
  for (const version of ['v1beta1', 'v1alpha1']) {
    test(`is IfAvailable where ${version} leaves it out`, (t) => {
      const apiVersion = `client.authentication.k8s.io/${version}`;
      const { exec } = load(t, { exec: { apiVersion, interactiveMode: undefined } }).access;
      assert.equal(exec?.interactiveMode, 'IfAvailable');
    });
  }
  test('has to be there in v1', () => {
    const problemsWith = (interactiveMode: string | undefined) => problemsOf({ exec: { interactiveMode } });
    assert.match(problemsWith(undefined), /users\[0\]\.user\.exec\.interactiveMode: is missing/);
    assert.match(problemsWith(''), /interactiveMode: is missing/);
    assert.match(problemsWith('never'), /must be one of .*did you mean Never\?/);
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
    assert.doesNotMatch(shown.join('\n'), /SECRET/);
    assert.equal(config.access.cluster.proxyUrl, proxy.url.replace('me:SECRET-pw@', ''));
  });

  test('is redacted where the plugin prints it', async (t) => {
    const plugin = await shellPlugin(t, 'echo "login me SECRET-pw failed" >&2; exit 1');
    const exec = { command: plugin.command, provideClusterInfo: true };
    const config = load(t, { cluster: { 'proxy-url': 'http://me:SECRET-pw@127.0.0.1:1' }, exec });
    await assert.rejects(config.ready(), { name: 'PluginError', message: /login me \[redacted\] failed/ });
  });

  test('whose % encodes nothing is an error of the proxy', async (t) => {
    const cluster = await startCluster(t);
    const plugin = await startPlugin(t);
    const proxied = { ...clusterOf(cluster), 'proxy-url': 'http://me:100%@127.0.0.1:1' };
    const config = load(t, { cluster: proxied, exec: { command: plugin.command } });
    await assert.rejects(namespaces(config), { code: 'PROXY_INVALID' });
  });
});

test('values of an extension are read as Kubernetes reads YAML (A.11)', (t) => {
  const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: 'EXT' }];
  const values = '{"a": yes, "b": 0x10, "c": 2.50, "d": 1e3, "e": 1:30, "f": 2020-01-02}';
  const config = load(t, kubeconfig({ cluster: { extensions } }).replace('"EXT"', values));
  assert.deepEqual(config.access.exec?.config, { a: true, b: 16, c: 2.5, d: 1000, e: '1:30', f: '2020-01-02' });
});
