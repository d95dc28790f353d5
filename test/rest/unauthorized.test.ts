import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { fetch } from 'undici';
import type { RestConfig } from '../../src/index.ts';
import type { FakeCluster } from '../../src/testing/index.ts';
import { startConfigAt } from '../fixtures/config-at.ts';
import { profileFor, startCluster, startFleet, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { tlsOptions } from '../fixtures/raw-h2.ts';
import { until } from '../fixtures/until.ts';

const postNamespace = ({ url }: FakeCluster, { dispatcher }: RestConfig, body: string | AsyncGenerator<Buffer>) => {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${url}/api/v1/namespaces`, { method: 'POST', headers, body, duplex: 'half', dispatcher });
};

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
  });

  test('replays a body, from a generated client, from text, and from a stream that has been sent', async (t) => {
    const { cluster, plugin, config } = await startFleet(t);
    const core = config.makeApiClient(CoreV1Api);
    async function* streamed() {
      yield Buffer.from('{"metadata":');
      yield Buffer.from('{"name":"c"}}');
    }
    const post = (body: string | AsyncGenerator<Buffer>) => postNamespace(cluster, config, body);
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
    const names = (await core.listNamespace()).items.map(({ metadata }) => metadata?.name);
    assert.deepEqual(names.slice(0, 3), ['a', 'b', 'c']);
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
    assert.deepEqual([response.status, response.headers.get('content-type')], [401, 'application/json']);
    assert.equal(JSON.parse(await response.text()).reason, 'Unauthorized');
    cluster.setTokens({ 'token-1': 'me' });
    assert.equal((await fetch(url, { dispatcher: config.dispatcher })).status, 200);
    assert.equal(await plugin.runs(), 2);
  });

  for (const moment of ['while the refresh runs', 'after the refresh has failed'] as const) {
    test(`that grows too long to be held ${moment} comes once, and whole, to a caller who is slow`, async (t) => {
      const part = 200 * 1024;
      let more = () => {};
      const server = createServer(tlsOptions, (_request, response) => {
        response.writeHead(401).write(Buffer.alloc(part));
        more = () => {
          response.write(Buffer.alloc(part));
          response.end(Buffer.alloc(part));
        };
      });
      const { config, plugin, url } = await startConfigAt(t, server);
      await config.ready();
      await plugin.answer({ exitCode: 1, delayMs: moment === 'while the refresh runs' ? 2_000 : 0 });
      let starts = 0;
      let size = 0;
      const ended = new Promise<unknown>((resolve) => {
        config.dispatcher.dispatch(
          { origin: new URL(url).origin, path: '/x', method: 'GET' },
          {
            onRequestStart: () => undefined,
            onResponseStart: (controller) => {
              starts += 1;
              controller.pause();
              setImmediate(more);
              // Each piece is taken late.
              setTimeout(() => controller.resume(), 200);
            },
            onResponseData: (controller, chunk) => {
              size += chunk.length;
              controller.pause();
              setTimeout(() => controller.resume(), 5);
            },
            onResponseEnd: () => resolve('ended'),
            onResponseError: (_controller, error) => resolve(error),
          },
        );
      });
      if (moment === 'while the refresh runs') {
        await until(t, async () => (await plugin.runs()) === 2);
        more();
        more = () => {};
      }
      assert.equal(await ended, 'ended');
      assert.deepEqual([starts, size], [1, 3 * part]);
    });
  }

  test('to a body over 4 MiB is not replayed, and the next request works', async (t) => {
    const { cluster, plugin, config } = await startFleet(t);
    const post = (size: number) => {
      async function* body() {
        yield Buffer.from('{"metadata":{"name":"big"},"x":"');
        for (let sent = 0; sent < size; sent += 65_536) yield Buffer.alloc(65_536, 'x');
        yield Buffer.from('"}');
      }
      return postNamespace(cluster, config, body());
    };
    cluster.setTokens({ 'token-2': 'me' });
    await config.ready();
    await plugin.answer({ token: 'token-2' });
    assert.equal((await post(5 * 1024 * 1024)).status, 401);
    assert.equal((await post(1024 * 1024)).status, 201);
  });

  test('does not become a hot loop, and leaves a second cluster that shares the credential undisturbed', async (t) => {
    const clock = { now: Date.now() };
    const { cluster: good, plugin, providers, config } = await startFleet(t, { options: { clock: () => clock.now } });
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
    const retrying = async () => {
      for (let i = 0; i < 10; i++) {
        await assert.rejects(badCore.listNamespace(), { code: 401 });
        clock.now += 4;
      }
    };
    await Promise.all(Array.from({ length: 20 }, retrying));
    stop = true;
    await undisturbed;
    const runs = await plugin.runs();
    assert.ok(runs <= 4, `${runs} runs`);
    assert.ok(served > 0 && good.stats.unauthorized === 0);
  });
});

describe('earlier versions of the protocol', () => {
  test('v1alpha1: the plugin is told of the response that made a refresh necessary, and of no cluster', async (t) => {
    const cluster = await startCluster(t);
    const apiVersion = 'client.authentication.k8s.io/v1alpha1';
    const plugin = await startPlugin(t, { token: 'token-1', apiVersion });
    const execConfig = { apiVersion, provideClusterInfo: true } as const;
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
    const options = { refreshOnForbidden: true, clock: () => start };
    const { cluster, plugin, config } = await startFleet(t, { options });
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

test('a 401 with a long body is replayed as any other, and comes whole where there is no better credential', async (t) => {
  const body = 'x'.repeat(1024 * 1024);
  let accepted = 'Bearer token-2';
  const server = createServer(tlsOptions, ({ headers }, response) => {
    if (headers.authorization === accepted) response.end('{}');
    else response.writeHead(401).end(body);
  });
  const { plugin, config } = await startConfigAt(t, server);
  await config.ready();
  await plugin.answer({ token: 'token-2' });
  assert.equal((await config.fetch('/')).status, 200);
  accepted = 'none';
  const refused = await config.fetch('/');
  assert.equal(refused.status, 401);
  assert.equal(await refused.text(), body);
});
