import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import { CoreV1Api, HttpMethod, KubeConfig, makeInformer, RequestContext, Watch } from '@kubernetes/client-node';
import { type Dispatcher, fetch } from 'undici';
import { ConnectionError, type RestConfig } from '../../src/index.ts';
import { defaultPatienceMs, watchesOf } from '../../src/rest/http-agent.ts';
import { AuthenticatedDispatcher } from '../../src/rest/request/dispatcher.ts';
import type { FakeCluster } from '../../src/testing/index.ts';

import { newNamespace, startFleet } from '../fixtures/fleet.ts';
import { endOfWatch } from '../fixtures/requests.ts';
import { rejection } from '../fixtures/thrown.ts';
import { until } from '../fixtures/until.ts';

/** The type of `config.dispatcher` is undici's. */
function authenticated(dispatcher: Dispatcher): AuthenticatedDispatcher {
  assert.ok(dispatcher instanceof AuthenticatedDispatcher);
  return dispatcher;
}

/** An informer for namespaces, and the names that it has seen; an error fails the test. */
async function startInformer(t: TestContext, config: RestConfig) {
  const core = config.makeApiClient(CoreV1Api);
  const informer = makeInformer(config, '/api/v1/namespaces', () => core.listNamespace());
  const seen: string[] = [];
  const errors: unknown[] = [];
  informer.on('add', ({ metadata }) => {
    seen.push(metadata?.name ?? '');
  });
  informer.on('error', (error) => {
    errors.push(error);
  });
  await informer.start();
  t.after(() => informer.stop());
  const sees = (name: string) =>
    until(t, () => {
      assert.deepEqual(errors, []);
      return seen.includes(name);
    });
  return { sees };
}

// Side by side: each of them waits for pauses between tries.
describe('an informer goes on by itself', { concurrency: true }, () => {
  test('when its connection breaks', async (t) => {
    const { cluster, config } = await startFleet(t);
    const { sees } = await startInformer(t, config);
    for (const name of ['one', 'two', 'three']) {
      cluster.closeConnections();
      cluster.add(newNamespace(name));
      await sees(name);
    }
  });

  test('when the server is away for a while', async (t) => {
    const log = new EventEmitter();
    const options = { logger: { warn: (_fields: object, line: string) => log.emit('warning', line) } };
    const { cluster, config } = await startFleet(t, { options });
    const { sees } = await startInformer(t, config);
    const warned = once(log, 'warning');
    await cluster.close();
    await warned;
    await cluster.restart();
    cluster.add(newNamespace('after-restart'));
    await sees('after-restart');
  });

  test('when its version is gone (410)', async (t) => {
    const { cluster, config } = await startFleet(t);
    const { sees } = await startInformer(t, config);
    cluster.failNext(410);
    cluster.closeConnections();
    cluster.add(newNamespace('after-410'));
    await sees('after-410');
  });

  test('when its token is rotated while the issuer is away', async (t) => {
    const { cluster, config, plugin } = await startFleet(t);
    const { sees } = await startInformer(t, config);
    cluster.setTokens({ 'token-2': 'me' });
    await plugin.answer({ exitCode: 1, stderr: 'the issuer is away' });
    cluster.closeConnections();
    await until(t, async () => (await plugin.runs()) >= 2);
    await plugin.answer({ token: 'token-2' });
    cluster.add(newNamespace('after-rotation'));
    await sees('after-rotation');
  });
});

describe('a watch', { concurrency: true }, () => {
  /** What client-node's Watch sends. */
  async function watch(config: RestConfig, signal: AbortSignal) {
    const url = `${config.access.cluster.server}/api/v1/namespaces?watch=true`;
    const context = new RequestContext(url, HttpMethod.GET);
    await config.applySecurityAuthentication(context);
    const dispatcher = context.getDispatcher();
    assert.ok(dispatcher);
    return fetch(url, { dispatcher, signal });
  }

  test('that cannot begin is tried again until its caller gives up, and warned about once', async (t) => {
    const tries: string[] = [];
    const warnings: string[] = [];
    const controller = new AbortController();
    const debug = (_fields: object, line: string) => {
      if (line.includes('is sent again')) tries.push(line);
      if (tries.length === 2) controller.abort(new Error('enough'));
    };
    const logger = { debug, warn: (_fields: object, line: string) => warnings.push(line) };
    const { cluster, config } = await startFleet(t, { options: { logger } });
    await cluster.close();
    await assert.rejects(watch(config, controller.signal), /enough/);
    const name = String.raw`^ClusterProfile fleet/spoke, https://127\.0\.0\.1:\d+`;
    const again = new RegExp(`${name}: GET /api/v1/namespaces is sent again in 1000 ms: .*ECONNREFUSED`);
    assert.match(tries[1] ?? '', again);
    assert.equal(warnings.length, 1, warnings.join('\n'));
    assert.match(warnings[0] ?? '', new RegExp(`${name}: nothing is listening there: .*ECONNREFUSED`));
  });

  test('that is answered with 503 for a while is warned about once, and again when it comes back', async (t) => {
    const warnings: string[] = [];
    const logger = { warn: (_fields: object, line: string) => warnings.push(line) };
    const { cluster, config } = await startFleet(t, { options: { logger } });
    for (const times of [1, 2]) {
      cluster.failNext(503, times === 1 ? 2 : 1);
      const stop = new AbortController();
      await watch(config, stop.signal);
      stop.abort();
      assert.equal(warnings.length, times);
      assert.match(warnings.at(-1) ?? '', /watch \/api\/v1\/namespaces could not begin and is tried again: .* 503$/);
    }
  });

  const failsWith = async (code: string, fetched: Promise<unknown>) => {
    const error = await rejection(fetched);
    assert.ok(error instanceof Error && error.cause instanceof ConnectionError, String(error));
    assert.equal(error.cause.code, code);
  };

  /** A dispatcher for watches whose times are short. */
  function impatient(config: RestConfig): Dispatcher {
    return watchesOf(authenticated(config.dispatcher), 3_000);
  }

  /** Has the credential and a connection, which take longer on a busy machine than a watch waits here. */
  async function begin(config: RestConfig, { url }: FakeCluster): Promise<void> {
    await (await fetch(`${url}/version`, { dispatcher: config.dispatcher })).text();
  }

  test('that cannot begin for long fails with the reason', async (t) => {
    const { cluster, config } = await startFleet(t);
    await begin(config, cluster);
    await cluster.close();
    const dispatcher = impatient(config);
    await failsWith('CONNECT_FAILED', fetch(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher }));
  });

  for (const [silent, state] of [
    ['plugin', 'the plugin runs'],
    ['server', 'a token, without an expiry'],
  ] as const) {
    test(`whose ${silent} says nothing fails with the reason, before client-node gives up and says none`, async (t) => {
      const { cluster, config, plugin } = await startFleet(t);
      if (silent === 'plugin') await plugin.answer({ token: 'token-1', delayMs: 600_000 });
      else {
        await begin(config, cluster);
        cluster.failNext('hang', 2);
      }
      const dispatcher = impatient(config);
      /** What client-node's Watch needs of a config. */
      class Impatient extends KubeConfig {
        override async applySecurityAuthentication(context: RequestContext): Promise<void> {
          context.setDispatcher(dispatcher);
        }
      }
      const used = new Impatient();
      used.loadFromClusterAndUser({ name: 'x', server: cluster.url, skipTLSVerify: false }, { name: 'x' });
      const error = await endOfWatch(used);
      assert.ok(error instanceof Error && error.cause instanceof ConnectionError, String(error));
      assert.equal(error.cause.code, 'RESPONSE_TIMEOUT');
      const [opening, rest = ''] = error.cause.message.split(': watch ');
      assert.equal(opening, `ClusterProfile fleet/spoke, ${cluster.url}`);
      assert.ok(rest.startsWith(`/api/v1/namespaces had no answer in 3 s`), rest);
      assert.ok(rest.includes(`(credential: ${state})`), rest);
    });
  }

  test('waits as long as client-node does, and ends before', async (t) => {
    const { config } = await startFleet(t);
    const clientNodeMs: unknown = Reflect.get(new Watch(config), 'requestTimeoutMs');
    assert.ok(typeof clientNodeMs === 'number');
    assert.ok(defaultPatienceMs < clientNodeMs);
  });

  test('of an informer, and one that has begun, is not ended for its silence', async (t) => {
    const { cluster, config } = await startFleet(t);
    await begin(config, cluster);
    const dispatcher = impatient(config);
    const stop = new AbortController();
    const list = `${cluster.url}/api/v1/namespaces?watch=true`;
    const begun = await fetch(list, { dispatcher, signal: stop.signal });
    const reading = begun.text();
    cluster.failNext('hang', 2);
    // This one's time is over later than theirs would be.
    const resumed = fetch(`${list}&resourceVersion=12`, { dispatcher, signal: stop.signal });
    await failsWith('RESPONSE_TIMEOUT', fetch(list, { dispatcher }));
    stop.abort(new Error('enough'));
    await assert.rejects(reading, /enough/);
    await assert.rejects(resumed, /enough/);
  });

  test('with the handler of an older undici is refused, and does not wait for ever', async (t) => {
    const { config } = await startFleet(t);
    const refused = new Promise((resolve) => {
      const handler = { onConnect: () => {}, onError: resolve } as Dispatcher.DispatchHandler; // of undici 7
      const path = '/api/v1/namespaces?watch=true&resourceVersion=1';
      impatient(config).dispatch({ path, method: 'GET' }, handler);
    });
    assert.equal(Reflect.get(Object(await refused), 'code'), 'FOREIGN_HANDLER');
  });

  test('that the server refuses is an error at once', async (t) => {
    const { cluster, config } = await startFleet(t);
    cluster.failNext(403);
    const error = await endOfWatch(config);
    assert.equal(Reflect.get(Object(error), 'statusCode'), 403);
    assert.equal(cluster.stats.requests, 1);
  });
});
