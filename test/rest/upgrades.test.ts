import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer } from 'node:https';
import { describe, type TestContext, test } from 'node:test';
import { connect, upgrade } from 'undici';
import { startPlugin, startProviders } from '../fixtures/fleet.ts';
import { listen } from '../fixtures/listen.ts';
import { profileAt, tlsOptions } from '../fixtures/raw-h2.ts';
import { until } from '../fixtures/until.ts';

test('a token that is rotated again and again is refreshed for upgrades, too', async (t) => {
  const server = createServer(tlsOptions);
  let token = '';
  server.on('upgrade', ({ headers }, socket) => {
    socket.on('error', () => undefined);
    const known = headers.authorization === `Bearer ${token}`;
    const upgraded = '101 Switching Protocols\r\nupgrade: echo\r\nconnection: upgrade';
    socket.end(`HTTP/1.1 ${known ? upgraded : '401 Unauthorized\r\ncontent-length: 0'}\r\n\r\n`);
  });
  const { port } = await listen(t, server);
  const plugin = await startPlugin(t);
  const ends: unknown[] = [];
  const observer = (event: unknown) => ends.push(event);
  subscribe('clusterprofile-credentials:request-end', observer);
  t.after(() => unsubscribe('clusterprofile-credentials:request-end', observer));
  const { dispatcher } = startProviders(t, plugin).getConfig(profileAt(port));
  for (token of ['token-1', 'token-2', 'token-3', 'token-4']) {
    await plugin.answer({ token });
    const { socket } = await upgrade(`https://127.0.0.1:${port}/x`, { protocol: 'echo', dispatcher });
    socket.destroy();
  }
  assert.equal(await plugin.runs(), 4);
  assert.deepEqual(
    ends.map((event) => Reflect.get(Object(event), 'statusCode')),
    [101, 101, 101, 101],
  );
});

describe('a CONNECT that is answered with', () => {
  /** It takes one token, and tells which it was shown. */
  async function startConnect(t: TestContext, status: number, options = {}) {
    const shown: unknown[] = [];
    const server = createServer(tlsOptions);
    server.on('connect', ({ headers }, socket) => {
      shown.push(headers.authorization);
      socket.on('error', () => undefined);
      const taken = headers.authorization === 'Bearer token-2';
      socket.end(`HTTP/1.1 ${taken ? '200 OK' : `${status} No`}\r\n\r\n`);
    });
    const { port } = await listen(t, server);
    const plugin = await startPlugin(t);
    const { dispatcher } = startProviders(t, plugin, options).getConfig(profileAt(port));
    const open = async () => {
      const { statusCode, socket } = await connect(`https://127.0.0.1:${port}/x`, { dispatcher });
      socket.on('error', () => undefined).destroy();
      return statusCode;
    };
    return { plugin, open, shown };
  }

  for (const [status, options, runs] of [
    [401, {}, 2],
    [403, { refreshOnForbidden: true }, 2],
    [403, {}, 1],
    [502, {}, 1],
  ] as const) {
    const what = runs === 2 ? 'gives the next one a new credential' : 'refreshes nothing';
    test(`${status} ${what}${'refreshOnForbidden' in options ? ', with refreshOnForbidden' : ''}`, async (t) => {
      const { plugin, open, shown } = await startConnect(t, status, options);
      // With the first credential.
      assert.equal(await open(), status);
      await plugin.answer({ token: 'token-2' });
      assert.equal(await open(), status);
      await until(t, async () => (await plugin.runs()) === runs);
      const refreshed = runs === 2;
      if (refreshed) await until(t, async () => (await open()) === 200);
      else assert.equal(await open(), status);
      assert.equal(shown.at(-1), `Bearer ${refreshed ? 'token-2' : 'token-1'}`);
    });
  }

  test('401 again and again does not become a hot loop', async (t) => {
    const { plugin, open } = await startConnect(t, 401);
    for (let i = 0; i < 30; i++) assert.equal(await open(), 401);
    assert.ok((await plugin.runs()) <= 4, `${await plugin.runs()}`);
  });
});
