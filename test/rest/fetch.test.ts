import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import { CoreV1Api } from '@kubernetes/client-node';
import { RequestError } from '../../src/index.ts';
import { startConfigAt } from '../fixtures/config-at.ts';
import { profileFor, startCluster, startFleet, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { clusterOf, load } from '../fixtures/kubeconfigs.ts';
import { tlsOptions } from '../fixtures/raw-h2.ts';
import { rejection } from '../fixtures/thrown.ts';

describe('config.fetch', () => {
  test('works without its config, as other clients take a fetch, and takes a path below the server, or a URL of it', async (t) => {
    const cluster = await startCluster(t, { pathPrefix: '/v1/projects/1' });
    const seen: string[] = [];
    cluster.onRequest = ({ method, url, identity }) => seen.push(`${identity} ${method} ${url}`);
    const { fetch } = startProviders(t, await startPlugin(t)).getConfig(profileFor(cluster));
    const targets = ['/version', 'version', `${cluster.url}/version`, new URL(`${cluster.url}/version?a=b`)];
    for (const target of targets) {
      const response = await fetch(target);
      assert.equal(response.status, 200);
      assert.equal(Reflect.get(Object(await response.json()), 'major'), '1');
    }
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'new' } });
    const created = await fetch('/api/v1/namespaces', { method: 'POST', headers, body });
    assert.equal(created.status, 201);
    await created.text();
    assert.deepEqual(seen, [
      ...new Array(3).fill('me GET /v1/projects/1/version'),
      'me GET /v1/projects/1/version?a=b',
      'me POST /v1/projects/1/api/v1/namespaces',
    ]);
  });

  test('rejects with our own errors, which name the cluster', async (t) => {
    const { cluster, config, plugin } = await startFleet(t);
    await plugin.answer({ exitCode: 1 });
    const message = new RegExp(`^ClusterProfile fleet/spoke, ${cluster.url}: access provider fake: plugin `);
    await assert.rejects(config.fetch('/version'), { name: 'PluginError', message });
    await plugin.answer({ token: 'token-1' });
    config.invalidate();
    cluster.failNext({ redirect: 'https://elsewhere.example.dev' });
    await assert.rejects(config.fetch('/version'), { code: 'FOREIGN_ORIGIN', profile: 'fleet/spoke' });
    cluster.failNext({ redirect: '/loop' }, 30);
    await assert.rejects(config.fetch('/version'), {
      name: 'RequestError',
      code: 'REQUEST_INVALID',
      message: /^ClusterProfile fleet\/spoke, https:\S+: the request failed: redirect count exceeded$/,
    });
    for (const target of ['https://', 'file:///etc/passwd', 'https://elsewhere.example.dev/x']) {
      await assert.rejects(config.fetch(target), { name: 'RequestError', profile: 'fleet/spoke' }, target);
    }
    await cluster.close();
    const failed = { name: 'ConnectionError', code: 'CONNECT_FAILED', profile: 'fleet/spoke' };
    await assert.rejects(config.fetch('/version'), failed);
    await config.close();
    await assert.rejects(config.fetch('/version'), { code: 'CONFIG_CLOSED', profile: 'fleet/spoke' });
  });

  test('follows a redirect that drops the body without it', async (t) => {
    const seen: string[] = [];
    const server = createServer(tlsOptions, async (request, response) => {
      seen.push(`${request.method} ${request.url} ${await text(request)}`);
      response.writeHead(request.url === '/x' ? 303 : 200, { location: '/y' }).end();
    });
    const { config } = await startConfigAt(t, server);
    await (await config.fetch('/x', { method: 'POST', body: 'some text' })).text();
    assert.deepEqual(seen, ['POST /x some text', 'GET /y ']);
  });

  test("leaves the caller's signal alone, and its dispatcher aside", async (t) => {
    const { config, cluster } = await startFleet(t);
    const reason = new Error('enough');
    await assert.rejects(config.fetch('/version', { signal: AbortSignal.abort(reason) }), reason);
    cluster.failNext('hang');
    const stop = new AbortController();
    cluster.onRequest = () => stop.abort(reason);
    await assert.rejects(config.fetch('/version', { signal: stop.signal }), reason);
    const other = (await startFleet(t)).config.dispatcher;
    const init: object = { dispatcher: other };
    assert.equal((await config.fetch('/version', init)).status, 200);
  });

  test('takes what Node has for a Request, headers and forms, and sends what is in them', async (t) => {
    const { config, cluster } = await startFleet(t);
    const seen: string[] = [];
    cluster.onRequest = ({ method, url, headers }) => seen.push(`${method} ${url} ${headers['x-a']}`);
    const namespace = (name: string) => JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    const headers = new Headers({ 'content-type': 'application/json', 'x-a': 'b' });
    const post = (name: string) => ({ method: 'POST', headers, body: namespace(name) });
    const url = `${cluster.url}/api/v1/namespaces`;
    for (const answer of [
      await config.fetch(new Request(url, post('one'))),
      await config.fetch('/api/v1/namespaces', new Request(url, post('two'))),
      await config.fetch('/api/v1/namespaces', { ...post('three'), signal: null }),
    ]) {
      assert.equal(answer.status, 201, await answer.text());
    }
    assert.deepEqual(new Set(seen), new Set(['POST /api/v1/namespaces b']));
    const form = new FormData();
    form.set('field', 'value');
    form.set('file', new File(['content'], 'name.txt'));
    let type: string | undefined;
    cluster.onRequest = (request) => {
      type = String(request.headers['content-type']);
    };
    await config.fetch('/api/v1/namespaces', { method: 'POST', body: form });
    assert.match(type ?? '', /^multipart\/form-data; boundary=/);
    const stop = AbortSignal.abort(new Error('enough'));
    await assert.rejects(config.fetch(new Request(url, { signal: stop })), /enough/);
  });

  for (const [what, target, init, expected] of [
    ['a GET with a body', '/version', { body: 'x' }, /GET\/HEAD method cannot have body/],
    ['a method with a space', '/version', { method: 'A B' }, /A B/],
    ['a value of a header', '/version', { headers: { authorization: 'hunter2\n2' } }, /a header has an invalid value/],
    ['an object as a body', '/version', { method: 'POST', body: { hunter2: 1 } }, /its body is Object: give text/],
    ['a URL with a login', 'https://me:hunter2@a.example.dev/', {}, /has a login: leave it out$/],
  ] as const) {
    test(`refuses ${what} with an error that names the cluster, and shows no value`, async (t) => {
      const { config } = await startFleet(t);
      const error = await rejection(Reflect.apply(config.fetch, config, [target, init]));
      assert.ok(error instanceof RequestError && error.code === 'REQUEST_INVALID', String(error));
      assert.match(error.message, /^ClusterProfile fleet\/spoke, https:/);
      assert.match(error.message, expected);
      assert.doesNotMatch(inspect(error), /hunter2/);
    });
  }
});

describe('inspect of a config', () => {
  test('is a few lines with its state, and nothing of a certificate or of client-node', async (t) => {
    const { cluster, config, plugin } = await startFleet(t, {
      answer: { token: 'token-1', expirationTimestamp: '2999-01-01T00:00:00Z' },
    });
    const shown = (state: string) =>
      `RestConfig {\n  profile: 'fleet/spoke',\n  server: '${cluster.url}',\n  provider: 'fake',\n` +
      `  command: '${plugin.command}',\n  state: '${state}'\n}`;
    assert.equal(inspect(config), shown('no request yet'));
    await config.ready();
    assert.equal(inspect(config), shown('a token, good until 2999-01-01T00:00:00.000Z'));
    await plugin.answer({ exitCode: 1 });
    config.invalidate();
    assert.equal(inspect(config), shown('no credential yet'));
    await assert.rejects(config.ready());
    assert.equal(inspect(config), shown('no credential: PLUGIN_FAILED'));
    await config.close();
    assert.equal(inspect(config), shown('closed'));
  });

  test('born from a kubeconfig names its context', async (t) => {
    const cluster = await startCluster(t);
    const config = load(t, { cluster: clusterOf(cluster), exec: null, user: { token: 'token-1' } });
    await config.ready();
    assert.match(
      inspect(config),
      /^RestConfig \{\n {2}name: 'kubeconfig, context \S+',\n {2}server: '\S+',\n {2}provider: 'kubeconfig',\n {2}state: 'a token, without an expiry'\n\}$/,
    );
    const anonymous = load(t, { cluster: clusterOf(cluster), exec: null, user: {} });
    await anonymous.ready();
    assert.match(inspect(anonymous), /state: 'needs no credential'/);
  });
});

/** The error of a call has these words. */
async function says(call: Promise<unknown>, words: string): Promise<void> {
  const error = String(await rejection(call));
  assert.ok(error.includes(words), error);
}

describe('a 401', () => {
  test('that a generated client gets says which cluster refuses what', async (t) => {
    const { cluster, config } = await startFleet(t);
    cluster.setTokens({});
    const core = config.makeApiClient(CoreV1Api);
    const answered = `ClusterProfile fleet/spoke, ${cluster.url}: GET /api/v1/namespaces`;
    const why = 'the server refuses the credential (401), and the refreshed one too: check whether the server knows';
    for (let i = 0; i < 2; i++) await says(core.listNamespace(), `${answered} was answered with 401: ${why}`);
    cluster.setTokens({ 'token-1': 'me' });
    await core.listNamespace();
    await says(core.readNamespace({ name: 'none' }), `${answered}/none was answered with 404"`);
  });
});
