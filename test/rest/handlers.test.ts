import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { connect, type Dispatcher, interceptors, request, stream, upgrade } from 'undici';
import { newNamespace, startFleet } from '../fixtures/fleet.ts';
import { statusOf } from '../fixtures/requests.ts';
import { until } from '../fixtures/until.ts';

const thrown = new Error('the handler has thrown');
const callbacks = ['onRequestStart', 'onResponseStart', 'onResponseData', 'onResponseEnd', 'onResponseError'] as const;

describe('a handler that throws ends its own request, and neither the process nor another', () => {
  for (const status of [200, 401] as const) {
    for (const callback of callbacks) {
      test(`in ${callback}, with an answer of ${status}`, async (t) => {
        const { cluster, plugin, config } = await startFleet(t);
        await config.ready();
        if (status === 401) {
          // The refresh fails, so the caller gets the 401 when that has ended.
          cluster.setTokens({});
          await plugin.answer({ exitCode: 1 });
        }
        let called = false;
        let ended: unknown;
        const handler: Dispatcher.DispatchHandler = {
          onRequestStart: () => undefined,
          onResponseStart: () => undefined,
          onResponseData: () => undefined,
          onResponseEnd: () => {
            ended = 'answered';
          },
          onResponseError: (_controller, error) => {
            ended = error;
          },
        };
        const throws = Object.assign(handler, {
          [callback]: () => {
            called = true;
            throw thrown;
          },
        });
        if (callback === 'onResponseError') cluster.failNext('reset');
        // A GET would be sent again.
        const method = callback === 'onResponseError' ? 'POST' : 'GET';
        config.dispatcher.dispatch({ origin: cluster.url, path: '/version', method }, throws);
        await until(t, () => called);
        if (callback !== 'onResponseError') {
          await until(t, () => ended !== undefined);
          assert.equal(ended, thrown);
        }
        cluster.setTokens({ 'token-1': 'me' });
        assert.equal(await statusOf(`${cluster.url}/version`, { dispatcher: config.dispatcher }), 200);
      });
    }
  }

  for (const callback of ['onRequestStart', 'onResponseError'] as const) {
    test(`in ${callback}, with a request that is refused before it goes out`, async (t) => {
      const { config } = await startFleet(t);
      await config.close();
      let called = false;
      const throws: Dispatcher.DispatchHandler = {
        onRequestStart: () => undefined,
        onResponseError: () => undefined,
        [callback]: () => {
          called = true;
          throw thrown;
        },
      };
      assert.equal(config.dispatcher.dispatch({ path: '/version', method: 'GET' }, throws), true);
      assert.ok(called);
    });
  }

  test("in the factory of undici's stream, on a 401 whose refresh failed", async (t) => {
    const { cluster, plugin, config } = await startFleet(t);
    await config.ready();
    cluster.setTokens({});
    await plugin.answer({ exitCode: 1 });
    const streamed = stream(`${cluster.url}/version`, { dispatcher: config.dispatcher, method: 'GET' }, () => {
      throw thrown;
    });
    await assert.rejects(streamed, thrown);
  });
});

describe('the dispatcher', () => {
  test('opens no WebSockets and tunnels, and says what does', async (t) => {
    const { cluster, config } = await startFleet(t);
    const { dispatcher } = config;
    const refused = { code: 'REQUEST_INVALID', message: /^ClusterProfile fleet\/spoke, https:.* opens no WebSockets/ };
    await assert.rejects(upgrade(cluster.url, { protocol: 'echo', dispatcher }), refused);
    await assert.rejects(connect(cluster.url, { dispatcher }), refused);
    assert.equal(cluster.stats.requests, 0);
  });

  test('can be composed, and what comes of it closed', async (t) => {
    const { cluster, config } = await startFleet(t);
    const composed = config.dispatcher.compose(interceptors.responseError());
    assert.equal(await statusOf(`${cluster.url}/version`, { dispatcher: composed }), 200);
    await composed.close();
    const closed = request(`${cluster.url}/version`, { dispatcher: config.dispatcher });
    await assert.rejects(closed, { code: 'CONFIG_CLOSED' });
  });

  for (const how of ['destroy()', 'destroy(error)', 'destroy(callback)'] as const) {
    test(`${how} ends the requests under way, and leaves those of other configs alone`, async (t) => {
      const { cluster, providers, profile, config } = await startFleet(t);
      const other = providers.getConfig(profile);
      const url = `${cluster.url}/api/v1/namespaces?watch=true`;
      const [mine, theirs] = await Promise.all([config, other].map(({ dispatcher }) => request(url, { dispatcher })));
      const ended = assert.rejects(mine?.body.text() ?? Promise.resolve());
      if (how === 'destroy()') await config.dispatcher.destroy();
      else if (how === 'destroy(error)') await config.dispatcher.destroy(thrown);
      else await new Promise<void>((resolve) => config.dispatcher.destroy(resolve));
      await ended;
      await assert.rejects(request(url, { dispatcher: config.dispatcher }), { code: 'CONFIG_CLOSED' });
      cluster.add(newNamespace('still-there'));
      for await (const chunk of theirs?.body ?? new PassThrough()) if (String(chunk).includes('still-there')) break;
    });
  }
});
