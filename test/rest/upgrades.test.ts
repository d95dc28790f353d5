import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import { describe, type TestContext, test } from 'node:test';
import { connect, upgrade } from 'undici';
import { published } from '../fixtures/channel.ts';
import { startConfigAt } from '../fixtures/config-at.ts';
import { tlsOptions } from '../fixtures/raw-h2.ts';
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
  const { plugin, dispatcher, url } = await startConfigAt(t, server);
  const ends = published(t, 'request-end');
  for (token of ['token-1', 'token-2', 'token-3', 'token-4']) {
    await plugin.answer({ token });
    const { socket } = await upgrade(url, { protocol: 'echo', dispatcher });
    socket.destroy();
  }
  assert.equal(await plugin.runs(), 4);
  const statusCodes = ends.map(({ statusCode }) => statusCode);
  assert.deepEqual(statusCodes, [101, 101, 101, 101]);
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
    const { plugin, dispatcher, url } = await startConfigAt(t, server, options);
    const open = async () => {
      const { statusCode, socket } = await connect(url, { dispatcher });
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
});
