// client-go's exec authenticator (k8s.io/client-go v0.36.3), item by item: the letters and numbers are those of a list of what
// it was seen to do. What differs on purpose says so, and is in the tables of docs/differences.md. Items A and B.17 are in
// rest/kubeconfig*.test.ts and rest/static-credentials.test.ts, those of the terminal (F.53, F.56) in exec/terminal.program.test.ts,
// M in plugin/plugin.test.ts.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { request } from 'undici';
import { ConfigurationError, RestConfig } from '../../src/index.ts';
import { failure, setUp } from '../fixtures/client-go.ts';
import { print, temporaryFolder } from '../fixtures/script.ts';

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
