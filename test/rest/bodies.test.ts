// Bodies of requests that fail or are not read: the error is the caller's, and nothing is left open.
import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { request } from 'undici';
import { startDeadServer } from '../fixtures/dead-server.ts';
import { startFleet, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { profileAt } from '../fixtures/raw-h2.ts';
import { statusOf } from '../fixtures/requests.ts';
import { until } from '../fixtures/until.ts';

const gone = new Error('the disk is gone');
/** A stream that never ends by itself. */
const open = () => new Readable({ read: () => undefined });

describe('a body that fails', () => {
  for (const http2 of [true, false]) {
    const protocol = http2 ? 'HTTP/2' : 'HTTP/1.1';

    test(`gives its own error, whether its file is not there or it breaks off in the middle, and the next request works (${protocol})`, async (t) => {
      const { cluster, config } = await startFleet(t, { cluster: { http2 } });
      const { dispatcher } = config;
      const post = (body: Readable) =>
        // One that is answered when its body is there.
        request(`${cluster.url}/api/v1/namespaces`, { method: 'POST', body, dispatcher });
      const missing = () => assert.rejects(post(createReadStream('/does/not/exist')), { code: 'ENOENT' });
      // While the plugin runs, on a new connection, and on one that stands.
      for (let i = 0; i < 3; i++) await missing();
      await config.ready();
      for (let i = 0; i < 3; i++) await missing();
      const body = open();
      body.push('half');
      cluster.onRequest = () => body.destroy(gone);
      await assert.rejects(post(body), gone);
      assert.equal(await statusOf(`${cluster.url}/version`, { dispatcher }), 200);
    });
  }

  test('while the plugin runs fails its request at once', async (t) => {
    const { cluster, plugin, config } = await startFleet(t, { answer: { token: 'token-1', delayMs: 600_000 } });
    const body = open();
    const posted = request(`${cluster.url}/version`, { method: 'POST', body, dispatcher: config.dispatcher });
    await until(t, async () => (await plugin.runs()) === 1);
    body.destroy(gone);
    await assert.rejects(posted, gone);
  });

  test('after its request has ended warnings nobody', async (t) => {
    const { cluster, config } = await startFleet(t);
    const body = Readable.from(['{}']);
    await statusOf(`${cluster.url}/version`, { method: 'POST', body, dispatcher: config.dispatcher });
    body.emit('error', gone);
  });
});

describe('a body that nobody reads any more is closed', () => {
  for (const moment of ['before it was sent', 'in the middle'] as const) {
    test(moment, async (t) => {
      const delayMs = moment === 'in the middle' ? 0 : 600_000;
      const [dead, plugin] = [await startDeadServer(t, 'HTTP/1.1'), await startPlugin(t, { token: 'a', delayMs })];
      const { dispatcher, access } = startProviders(t, plugin).getConfig(dead.profile);
      const body = open();
      body.push('half');
      const given = new AbortController();
      const { signal } = given;
      const posted = request(`${access.cluster.server}/x`, { method: 'POST', body, dispatcher, signal });
      const rejected = assert.rejects(posted, /enough/);
      await until(t, async () => (delayMs === 0 ? body.readableLength === 0 : (await plugin.runs()) === 1));
      given.abort(new Error('enough'));
      await rejected;
      await until(t, () => body.destroyed);
    });
  }

  test('when there is no connection', async (t) => {
    const config = startProviders(t, await startPlugin(t)).getConfig(profileAt(1));
    const body = open();
    const posted = request('https://127.0.0.1:1/x', { method: 'POST', body, dispatcher: config.dispatcher });
    await assert.rejects(posted, { code: 'CONNECT_FAILED' });
    assert.ok(body.destroyed);
  });
});
