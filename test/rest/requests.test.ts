import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import {
  AuthenticationV1Api,
  CoreV1Api,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  VersionApi,
  Watch,
} from '@kubernetes/client-node';
import { fetch, request } from 'undici';
import { PluginError, RequestError } from '../../src/index.ts';
import { profileFor, startCluster, startFleet, startPlugin, startProviders } from '../fixtures/fleet.ts';

describe('every kind of client', () => {
  for (const http2 of [true, false]) {
    const protocol = http2 ? 'HTTP/2' : 'HTTP/1.1';

    test(`generated APIs are authenticated over ${protocol}`, async (t) => {
      const { cluster, plugin, config } = await startFleet(t, { cluster: { http2 } });
      const core = config.makeApiClient(CoreV1Api);
      assert.deepEqual(
        (await core.listNamespace()).items.map(({ metadata }) => metadata?.name),
        ['default', 'kube-system'],
      );
      const created = await core.createNamespace({ body: { metadata: { name: 'new' } } });
      assert.equal(created.metadata?.name, 'new');
      const review = await config.makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: {} });
      assert.equal(review.status?.userInfo?.username, 'me');
      assert.equal((await config.makeApiClient(VersionApi).getCode()).major, '1');
      assert.equal(await plugin.runs(), 1);
      assert.equal(cluster.stats.unauthorized, 0);
      if (http2) assert.equal(cluster.stats.connections, 1);
    });

    test(`Watch sees events over ${protocol}`, async (t) => {
      const { cluster, config } = await startFleet(t, { cluster: { http2 } });
      const names: (string | undefined)[] = [];
      let got: () => void = () => {};
      const three = new Promise<void>((resolve) => {
        got = () => names.length >= 3 && resolve();
      });
      const controller = await new Watch(config).watch(
        '/api/v1/namespaces',
        {},
        (type, object) => {
          names.push(`${type} ${object.metadata.name}`);
          if (names.length === 2) cluster.emit('ADDED', 'later');
          got();
        },
        () => {},
      );
      await three;
      controller.abort();
      assert.deepEqual(names, ['ADDED default', 'ADDED kube-system', 'ADDED later']);
    });
  }

  test('an informer sees what changes', async (t) => {
    const { cluster, config } = await startFleet(t);
    const core = config.makeApiClient(CoreV1Api);
    const informer = makeInformer(config, '/api/v1/namespaces', () => core.listNamespace());
    const seen: string[] = [];
    const added = new Promise<void>((resolve) => {
      informer.on('add', (namespace) => {
        seen.push(namespace.metadata?.name ?? '');
        if (seen.includes('later')) resolve();
      });
    });
    informer.on('connect', () => cluster.emit('ADDED', 'later'));
    await informer.start();
    await added;
    await informer.stop();
    assert.deepEqual(seen, ['default', 'kube-system', 'later']);
  });

  test('KubernetesObjectApi creates, applies, reads, lists and deletes', async (t) => {
    const { cluster, config } = await startFleet(t);
    const objects = KubernetesObjectApi.makeApiClient(config);
    const namespace = (name: string, labels: Record<string, string> = {}) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels },
    });
    await objects.create(namespace('one'));
    const applied = await objects.patch(
      namespace('two', { a: 'b' }),
      undefined,
      undefined,
      'me',
      true,
      PatchStrategy.ServerSideApply,
    );
    assert.deepEqual(applied.metadata?.labels, { a: 'b' });
    assert.equal((await objects.read(namespace('two'))).metadata?.name, 'two');
    await objects.delete(namespace('one'));
    const names = (await objects.list('v1', 'Namespace')).items.map(({ metadata }) => metadata?.name);
    assert.deepEqual(names, ['default', 'kube-system', 'two']);
    assert.equal(cluster.stats.unauthorized, 0);
  });

  test('server-side apply through a generated API, replayed after a 401', async (t) => {
    const { cluster, plugin, config } = await startFleet(t);
    const core = config.makeApiClient(CoreV1Api);
    await core.listNamespace();
    cluster.setTokens({ 'token-2': 'me' });
    await plugin.answer({ token: 'token-2' });
    const seen: unknown[] = [];
    cluster.onRequest = ({ method, url, headers }) => seen.push([method, url, headers['content-type']]);
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'applied', labels: { team: 'x' } } };
    const applied = await core.patchNamespace(
      { name: 'applied', body, fieldManager: 'me', force: true },
      setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply),
    );
    assert.deepEqual(applied.metadata?.labels, { team: 'x' });
    const request = ['PATCH', '/api/v1/namespaces/applied?fieldManager=me&force=true', 'application/apply-patch+yaml'];
    assert.deepEqual(seen, [request, request]);
  });

  test('a body of 1 MB arrives whole, and comes back whole', async (t) => {
    const { config } = await startFleet(t);
    const core = config.makeApiClient(CoreV1Api);
    const label = 'x'.repeat(1024 * 1024);
    await core.createNamespace({ body: { metadata: { name: 'large', labels: { label } } } });
    assert.equal((await core.readNamespace({ name: 'large' })).metadata?.labels?.label, label);
  });

  test('undici itself, through config.dispatcher, with fetch and with request', async (t) => {
    const { cluster, config } = await startFleet(t);
    const url = `${cluster.url}/api/v1/namespaces`;
    assert.equal((await fetch(url, { dispatcher: config.dispatcher })).status, 200);
    const { statusCode, body } = await request(url, { dispatcher: config.dispatcher });
    await body.dump();
    assert.equal(statusCode, 200);
  });
});

describe('a path prefix', () => {
  test('is kept on every request', async (t) => {
    const { cluster, config } = await startFleet(t, { cluster: { pathPrefix: '/v1/projects/1' } });
    const urls: string[] = [];
    cluster.onRequest = ({ url }) => urls.push(url);
    const core = config.makeApiClient(CoreV1Api);
    await core.listNamespace();
    const { body } = await request(`${config.access.cluster.server}/api/v1/namespaces?watch=true`, {
      dispatcher: config.dispatcher,
    });
    await once(body, 'readable');
    body.on('error', () => {}).destroy();
    assert.ok(
      urls.every((url) => url.startsWith('/v1/projects/1/api/v1/namespaces')),
      urls.join(),
    );
  });
});

describe('a 401', () => {
  test('refreshes the credential once and replays the request once', async (t) => {
    const { cluster, plugin, config } = await startFleet(t);
    const core = config.makeApiClient(CoreV1Api);
    await core.listNamespace();
    cluster.setTokens({ 'token-2': 'me again' });
    await plugin.answer({ token: 'token-2' });
    const results = await Promise.all(Array.from({ length: 20 }, () => core.listNamespace()));
    assert.ok(results.every(({ items }) => items.length === 2));
    assert.equal(await plugin.runs(), 2);
    assert.equal(cluster.stats.connections, 1);
  });

  test('replays a body, from a generated client, from text, and from a stream that has been sent', async (t) => {
    const { cluster, plugin, config } = await startFleet(t);
    const core = config.makeApiClient(CoreV1Api);
    async function* streamed() {
      yield Buffer.from('{"metadata":');
      yield Buffer.from('{"name":"c"}}');
    }
    const post = (body: string | AsyncGenerator<Buffer>) =>
      fetch(`${cluster.url}/api/v1/namespaces`, {
        method: 'POST',
        body,
        duplex: 'half',
        dispatcher: config.dispatcher,
      });
    const creations = [
      () => core.createNamespace({ body: { metadata: { name: 'a' } } }),
      async () => assert.equal((await post('{"metadata":{"name":"b"}}')).status, 201),
      async () => assert.equal((await post(streamed())).status, 201),
    ];
    for (const [index, create] of creations.entries()) {
      cluster.setTokens({ [`rotated-${index}`]: 'me' });
      await plugin.answer({ token: `rotated-${index}` });
      await create();
    }
    assert.deepEqual((await core.listNamespace()).items.map(({ metadata }) => metadata?.name).slice(2), [
      'a',
      'b',
      'c',
    ]);
  });

  test("is the caller's when the replay is refused too, and that starts nothing", async (t) => {
    const { cluster, plugin, config } = await startFleet(t);
    cluster.setTokens({});
    await assert.rejects(config.makeApiClient(CoreV1Api).listNamespace(), { code: 401 });
    assert.equal(cluster.stats.requests, 2);
    assert.equal(await plugin.runs(), 2);
  });

  test("is the caller's, body and all, when the refresh fails, and the old credential stays", async (t) => {
    const { cluster, plugin, config } = await startFleet(t);
    const url = `${cluster.url}/api/v1/namespaces`;
    await (await fetch(url, { dispatcher: config.dispatcher })).text();
    cluster.setTokens({});
    await plugin.answer({ exitCode: 1 });
    const response = await fetch(url, { dispatcher: config.dispatcher });
    assert.equal(response.status, 401);
    assert.deepEqual(
      [response.headers.get('content-type'), JSON.parse(await response.text()).reason],
      ['application/json', 'Unauthorized'],
    );
    cluster.setTokens({ 'token-1': 'me' });
    assert.equal((await fetch(url, { dispatcher: config.dispatcher })).status, 200);
    assert.equal(await plugin.runs(), 2);
  });

  test('to a body over 4 MiB is not replayed, and the next request works', async (t) => {
    const { cluster, plugin, config } = await startFleet(t);
    const post = (size: number) => {
      async function* body() {
        yield Buffer.from('{"metadata":{"name":"big"},"x":"');
        for (let sent = 0; sent < size; sent += 65_536) yield Buffer.alloc(65_536, 'x');
        yield Buffer.from('"}');
      }
      return fetch(`${cluster.url}/api/v1/namespaces`, {
        method: 'POST',
        body: body(),
        duplex: 'half',
        dispatcher: config.dispatcher,
      });
    };
    cluster.setTokens({ 'token-2': 'me' });
    await config.ready();
    await plugin.answer({ token: 'token-2' });
    assert.equal((await post(5 * 1024 * 1024)).status, 401);
    assert.equal((await post(1024 * 1024)).status, 201);
  });

  test('does not become a hot loop, and leaves a second cluster that shares the credential undisturbed', async (t) => {
    const { cluster: good, plugin, providers, config } = await startFleet(t);
    const bad = await startCluster(t, { tokens: {} });
    const core = config.makeApiClient(CoreV1Api);
    const badCore = providers.getConfig(profileFor(bad)).makeApiClient(CoreV1Api);
    let stop = false;
    let served = 0;
    const undisturbed = (async () => {
      while (!stop) {
        assert.equal((await core.listNamespace()).items.length, 2);
        served += 1;
      }
    })();
    const until = Date.now() + 2_000;
    const retrying = async () => {
      while (Date.now() < until) await assert.rejects(badCore.listNamespace(), { code: 401 });
    };
    await Promise.all(Array.from({ length: 100 }, retrying));
    stop = true;
    await undisturbed;
    const runs = await plugin.runs();
    assert.ok(runs <= 4, `${runs} runs`);
    assert.ok(served > 20 && good.stats.unauthorized === 0);
  });
});

describe('earlier versions of the protocol', () => {
  test('v1alpha1: the plugin is told of the response that made a refresh necessary, and of no cluster', async (t) => {
    const cluster = await startCluster(t);
    const apiVersion = 'client.authentication.k8s.io/v1alpha1';
    const plugin = await startPlugin(t, { token: 'token-1', apiVersion });
    const execConfig = { apiVersion, command: plugin.command, provideClusterInfo: true } as const;
    const config = startProviders(t, plugin, {}, { execConfig }).getConfig(profileFor(cluster));
    const core = config.makeApiClient(CoreV1Api);
    await core.listNamespace();
    assert.deepEqual(await plugin.lastInput(), { kind: 'ExecCredential', apiVersion, spec: { interactive: false } });
    cluster.setTokens({ 'token-2': 'me' });
    await plugin.answer({ token: 'token-2', apiVersion });
    await core.listNamespace();
    const input = JSON.stringify(await plugin.lastInput());
    assert.match(input, /"response":\{"code":401,"header":\{.*"content-type":\["application\/json"\]/);
  });

  test('refreshOnForbidden: a 403 refreshes too, and RBAC denials do not become a stream of runs', async (t) => {
    const start = Date.now();
    const { cluster, plugin, config } = await startFleet(t, {
      options: { refreshOnForbidden: true, clock: () => start },
    });
    const core = config.makeApiClient(CoreV1Api);
    cluster.failNext(403);
    await core.listNamespace();
    assert.equal(await plugin.runs(), 2);
    cluster.failNext(403, 101);
    for (let i = 0; i < 100; i++) await assert.rejects(core.listNamespace(), { code: 403 });
    assert.equal(await plugin.runs(), 3);
  });

  test('without it a 403 starts nothing', async (t) => {
    const { cluster, plugin, config } = await startFleet(t);
    cluster.failNext(403);
    await assert.rejects(config.makeApiClient(CoreV1Api).listNamespace(), { code: 403 });
    assert.equal(await plugin.runs(), 1);
  });
});

describe('a failing plugin', () => {
  test('under 100 concurrent requests retried for 2 s runs a handful of times', async (t) => {
    const { cluster, plugin, config } = await startFleet(t, { answer: { exitCode: 1, stderr: 'no metadata server' } });
    const core = config.makeApiClient(CoreV1Api);
    const until = Date.now() + 2_000;
    const retrying = async () => {
      while (Date.now() < until) {
        await assert.rejects(core.listNamespace(), (error: Error) => {
          assert.ok(error.cause instanceof PluginError && error.cause.exitCode === 1);
          return true;
        });
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await Promise.all(Array.from({ length: 100 }, retrying));
    const runs = await plugin.runs();
    assert.ok(runs >= 1 && runs <= 4, `${runs} runs`);
    assert.equal(cluster.stats.requests, 0);
  });
});

describe('where a credential goes', () => {
  test("is the cluster's own origin only: a redirect to another gets none", async (t) => {
    const { cluster, config } = await startFleet(t);
    const thief = await startCluster(t);
    const url = `${cluster.url}/api/v1/namespaces`;
    cluster.failNext({ redirect: `${thief.url}/api/v1/namespaces?secret=x` });
    await assert.rejects(fetch(url, { dispatcher: config.dispatcher }), (error: Error) => {
      assert.ok(error.cause instanceof RequestError);
      assert.equal(error.cause.code, 'FOREIGN_ORIGIN');
      assert.ok(!error.cause.message.includes('secret'));
      return true;
    });
    await assert.rejects(request(thief.url, { dispatcher: config.dispatcher }), { code: 'FOREIGN_ORIGIN' });
    assert.equal(thief.stats.connections, 0);
  });

  test('a redirect within the origin is followed with the credential', async (t) => {
    const { cluster, config } = await startFleet(t);
    cluster.failNext({ redirect: `${cluster.url}/version` });
    const response = await fetch(`${cluster.url}/moved`, { dispatcher: config.dispatcher });
    assert.equal(response.status, 200);
    assert.equal(cluster.stats.byIdentity.get('me'), 2);
  });

  for (const [form, headers] of [
    ['an object', { AUTHORIZATION: 'Bearer own' }],
    ['a flat list', ['authorization', 'Bearer own']],
    ['a Map', new Map([['Authorization', 'Bearer own']])],
    ['Headers', new Headers({ authorization: 'Bearer own' })],
  ] as const) {
    test(`static credentials win: a request with its own Authorization, as ${form}, runs no plugin`, async (t) => {
      const { cluster, plugin, config } = await startFleet(t, { cluster: { tokens: { own: 'own' } } });
      const send = async () => {
        const { statusCode, body } = await request(`${cluster.url}/version`, {
          dispatcher: config.dispatcher,
          headers: headers as Record<string, string>, // undici takes every form; its types differ by release
        });
        await body.dump();
        return statusCode;
      };
      assert.equal(await send(), 200);
      assert.equal(cluster.stats.byIdentity.get('own'), 1);
      cluster.setTokens({});
      assert.equal(await send(), 401);
      assert.equal(await plugin.runs(), 0);
    });
  }
});

describe('TLS', () => {
  test('a server that the CA did not sign gets no credential', async (t) => {
    const { providers } = await startFleet(t);
    const other = await startCluster(t);
    const { certificateAuthorityData } = await startCluster(t);
    const config = providers.getConfig(profileFor(other, { 'certificate-authority-data': certificateAuthorityData }));
    await assert.rejects(config.makeApiClient(CoreV1Api).listNamespace(), /fetch failed/);
    assert.equal(other.stats.requests, 0);
  });

  test('tls-server-name decides which name is verified, even when the caller sends another Host', async (t) => {
    const cluster = await startCluster(t, { serverNames: ['kubernetes.default'] });
    const providers = startProviders(t, await startPlugin(t));
    const named = providers.getConfig(profileFor(cluster, { 'tls-server-name': 'kubernetes.default' }));
    assert.equal((await named.makeApiClient(CoreV1Api).listNamespace()).items.length, 2);
    const wrong = providers.getConfig(profileFor(cluster, { 'tls-server-name': 'other.name' }));
    const sent = request(`${cluster.url}/version`, { dispatcher: wrong.dispatcher, headers: { host: 'localhost' } });
    await assert.rejects(sent, { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });

  test('verification is off only where the profile asks and the provider allows it', async (t) => {
    const cluster = await startCluster(t);
    const more = { 'certificate-authority-data': undefined, 'insecure-skip-tls-verify': true };
    const providers = startProviders(t, await startPlugin(t), {}, { allowInsecureTLS: true });
    const config = providers.getConfig(profileFor(cluster, more));
    assert.equal((await config.makeApiClient(CoreV1Api).listNamespace()).items.length, 2);
  });

  test('plain http works on loopback where the provider allows it', async (t) => {
    const cluster = await startCluster(t, { insecureHttp: true });
    const providers = startProviders(t, await startPlugin(t), {}, { allowInsecureTLS: true });
    const config = providers.getConfig(profileFor(cluster));
    assert.equal((await config.makeApiClient(CoreV1Api).listNamespace()).items.length, 2);
  });
});

describe('compression', () => {
  const namespaces = Array.from({ length: 2_000 }, (_, index) => `namespace-${index}`);

  test('is asked for by default, and not with disable-compression', async (t) => {
    const { cluster, providers, config } = await startFleet(t, { cluster: { namespaces } });
    const asked: (string | undefined)[] = [];
    cluster.onRequest = ({ headers }) => asked.push(String(headers['accept-encoding']));
    for (const each of [config, providers.getConfig(profileFor(cluster, { 'disable-compression': true }))]) {
      assert.equal((await each.makeApiClient(CoreV1Api).listNamespace()).items.length, 2_000);
    }
    assert.match(asked[0] ?? '', /gzip/);
    assert.equal(asked[1], 'identity');
  });
});

describe('a caller who gives up', () => {
  test('while the plugin runs is released at once; the run goes on and serves the next', async (t) => {
    const { plugin, config, cluster } = await startFleet(t, { answer: { token: 'token-1', delayMs: 300 } });
    const controller = new AbortController();
    const gaveUp = fetch(`${cluster.url}/version`, { dispatcher: config.dispatcher, signal: controller.signal });
    while ((await plugin.runs()) === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort(new Error('enough'));
    await assert.rejects(gaveUp, /enough/);
    assert.equal(cluster.stats.requests, 0);
    assert.equal((await fetch(`${cluster.url}/version`, { dispatcher: config.dispatcher })).status, 200);
    assert.equal(await plugin.runs(), 1);
  });

  test('while the server is silent ends that request only', async (t) => {
    const { config, cluster } = await startFleet(t);
    cluster.failNext('hang');
    const controller = new AbortController();
    cluster.onRequest = () => controller.abort();
    await assert.rejects(
      request(`${cluster.url}/version`, { dispatcher: config.dispatcher, signal: controller.signal }),
      {
        name: 'AbortError',
      },
    );
    assert.equal((await fetch(`${cluster.url}/version`, { dispatcher: config.dispatcher })).status, 200);
    assert.equal(cluster.stats.connections, 1);
  });

  test('while ready() waits is released too', async (t) => {
    const { plugin, config } = await startFleet(t, { answer: { token: 'token-1', delayMs: 300 } });
    const controller = new AbortController();
    const waiting = config.ready({ signal: controller.signal });
    while ((await plugin.runs()) === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    await assert.rejects(waiting, { name: 'AbortError' });
    await config.ready();
    assert.equal(await plugin.runs(), 1);
  });
});

describe('a stream', () => {
  test('keeps its backpressure', async (t) => {
    const { cluster, config } = await startFleet(t);
    const { body } = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: config.dispatcher });
    // Nobody reads: what the server sends stays in buffers, and then with the server.
    for (let i = 0; i < 20_000; i++) cluster.emit('MODIFIED', 'default', { padding: 'x'.repeat(200) });
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(body.readableLength < 2 * 1024 * 1024, `${body.readableLength} bytes are in memory`);
    let events = 0;
    for await (const chunk of body) {
      events += String(chunk).split('\n').length - 1;
      if (events >= 20_002) break;
    }
    assert.equal(events, 20_002);
  });

  test('that the server breaks off is an error for its reader, and the next request works', async (t) => {
    const { cluster, config } = await startFleet(t);
    const { body } = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: config.dispatcher });
    await once(body, 'readable');
    body.resume();
    const failed = once(body, 'error');
    cluster.closeConnections();
    await failed;
    assert.equal((await fetch(`${cluster.url}/version`, { dispatcher: config.dispatcher })).status, 200);
  });
});
