import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { fetch, request } from 'undici';
import { newNamespace, profileFor, startCluster, startFleet, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { statusOf } from '../fixtures/requests.ts';
import { print, shellPlugin, waitForGo } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';

describe('where a credential goes', () => {
  test("is the cluster's own origin only: a redirect to another gets none", async (t) => {
    const { cluster, config } = await startFleet(t);
    const thief = await startCluster(t);
    const url = `${cluster.url}/api/v1/namespaces`;
    cluster.failNext({ redirect: `${thief.url}/api/v1/namespaces?secret=x` });
    const redirected = fetch(url, { dispatcher: config.dispatcher }).catch(({ cause }) => Promise.reject(cause));
    const withoutQuery = /^(?!.*secret)/s;
    await assert.rejects(redirected, { name: 'RequestError', code: 'FOREIGN_ORIGIN', message: withoutQuery });
    await assert.rejects(request(thief.url, { dispatcher: config.dispatcher }), { code: 'FOREIGN_ORIGIN' });
    assert.equal(thief.stats.connections, 0);
  });

  for (const [form, headers] of [
    ['an object', { AUTHORIZATION: 'Bearer own' }],
    ['a flat list', ['authorization', 'Bearer own']],
    ['Headers', new Headers({ authorization: 'Bearer own' })],
  ] as const) {
    test(`static credentials win: a request with its own Authorization, as ${form}, runs no plugin`, async (t) => {
      const { cluster, plugin, config } = await startFleet(t, { cluster: { tokens: { own: 'own' } } });
      const send = () =>
        statusOf(`${cluster.url}/version`, {
          dispatcher: config.dispatcher,
          headers: headers as Record<string, string>, // undici takes every form; its types differ by release
        });
      assert.equal(await send(), 200);
      assert.equal(cluster.stats.byIdentity.get('own'), 1);
      cluster.setTokens({});
      assert.equal(await send(), 401);
      assert.equal(await plugin.runs(), 0);
    });
  }
});

describe('TLS', () => {
  test('tls-server-name decides which name is verified, even when the caller sends another Host', async (t) => {
    const cluster = await startCluster(t, { serverNames: ['kubernetes.default'] });
    const providers = startProviders(t, await startPlugin(t));
    const wrong = providers.getConfig(profileFor(cluster, { 'tls-server-name': 'other.name' }));
    const sent = request(`${cluster.url}/version`, { dispatcher: wrong.dispatcher, headers: { host: 'localhost' } });
    await assert.rejects(sent, { code: 'TLS_NAME_MISMATCH' });
  });

  for (const [what, insecureHttp, more] of [
    ['verification is off', false, { 'certificate-authority-data': undefined, 'insecure-skip-tls-verify': true }],
    ['plain http works on loopback', true, {}],
  ] as const) {
    test(`${what} where the profile asks and the provider allows it`, async (t) => {
      const cluster = await startCluster(t, { insecureHttp });
      const providers = startProviders(t, await startPlugin(t), {}, { allowInsecureTLS: true });
      const config = providers.getConfig(profileFor(cluster, more));
      assert.equal((await config.makeApiClient(CoreV1Api).listNamespace()).items.length, 2);
    });
  }
});

test('compression is asked for by default, and not with disable-compression', async (t) => {
  const { cluster, providers, config } = await startFleet(t);
  cluster.add(Array.from({ length: 2_000 }, (_, index) => newNamespace(`namespace-${index}`)));
  const asked: (string | undefined)[] = [];
  cluster.onRequest = ({ headers }) => asked.push(String(headers['accept-encoding']));
  for (const each of [config, providers.getConfig(profileFor(cluster, { 'disable-compression': true }))]) {
    assert.equal((await each.makeApiClient(CoreV1Api).listNamespace()).items.length, 2_002);
  }
  assert.match(asked[0] ?? '', /gzip/);
  assert.equal(asked[1], 'identity');
});

test('a caller who gives up while the plugin runs is released at once; the run goes on and serves the next', async (t) => {
  const cluster = await startCluster(t);
  const plugin = await shellPlugin(t, `${waitForGo}\n${print({ token: 'token-1' })}`);
  const config = startProviders(t, plugin).getConfig(profileFor(cluster));
  const controller = new AbortController();
  const gaveUp = fetch(`${cluster.url}/version`, { dispatcher: config.dispatcher, signal: controller.signal });
  await until(t, async () => (await plugin.runs()) > 0);
  controller.abort(new Error('enough'));
  await assert.rejects(gaveUp, /enough/);
  assert.equal(cluster.stats.requests, 0);
  await writeFile(join(plugin.folder, 'go'), '');
  assert.equal((await fetch(`${cluster.url}/version`, { dispatcher: config.dispatcher })).status, 200);
  assert.equal(await plugin.runs(), 1);
});
