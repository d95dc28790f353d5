// A connection that is opened, and that nobody has a request for: who asked for it has given up.
import assert from 'node:assert/strict';
import { createSecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { Pool } from '../../src/rest/transport/pool.ts';
import { poolDefaults } from '../../src/rest/transport/wire-request.ts';
import { listen } from '../fixtures/listen.ts';
import { connectorTo, sendThrough } from '../fixtures/pooled-request.ts';
import { tlsOptions } from '../fixtures/raw-h2.ts';
import { until } from '../fixtures/until.ts';

/** A pool with one connection that has carried nothing, and its server. */
async function startUnused(t: TestContext, allowH2: boolean, keepAliveTimeoutMs = poolDefaults.keepAliveTimeoutMs) {
  const server = createSecureServer({ ...tlsOptions, allowHTTP1: true });
  server.on('request', (_request, response) => response.end('{}'));
  const { port, open, connections } = await listen(t, server);
  const url = `https://127.0.0.1:${port}`;
  const connect = connectorTo(t, url, allowH2);
  const sockets: Socket[] = [];
  const dial = async () => {
    const socket = await connect();
    sockets.push(socket);
    return socket;
  };
  const pool = new Pool(url, dial, { ...poolDefaults, keepAliveTimeoutMs }, 'any');
  t.after(() => pool.destroy(new Error('the test has ended')));
  // It gives up while its connection is being opened.
  const nobody = {
    longRunning: false,
    waitsSince: undefined,
    reused: false,
    onRequestStart: () => assert.fail('it was written'),
    onResponseStart: () => undefined,
    onResponseData: () => undefined,
    onResponseEnd: () => undefined,
    onResponseError: () => assert.fail('it was refused'),
  };
  pool.send({ path: '/', method: 'GET', headers: {} }, nobody);
  pool.forget(nobody);
  await until(t, () => sockets.length === 1 && open.size === 1);
  return { pool, url, sockets, open, connections };
}

for (const [protocol, allowH2] of [
  ['HTTP/2', true],
  ['HTTP/1.1', false],
] as const) {
  describe(`a connection of ${protocol} that nobody has used`, () => {
    test('carries the first request', async (t) => {
      const { pool, url, connections } = await startUnused(t, allowH2);
      assert.equal(await sendThrough(pool, url, '/'), 200);
      assert.equal(connections(), 1);
    });

    test('and that the server closes is noticed, and loses no request', async (t) => {
      const { pool, url, sockets, open, connections } = await startUnused(t, allowH2);
      for (const socket of open) socket.end();
      await until(t, () => sockets[0]?.destroyed === true);
      assert.equal(await sendThrough(pool, url, '/'), 200);
      assert.equal(connections(), 2);
    });

    test('is closed when it has been idle for as long as any other', async (t) => {
      const { open } = await startUnused(t, allowH2, 300);
      await until(t, () => open.size === 0);
    });

    test('is closed when its pool retires', async (t) => {
      const { pool, open } = await startUnused(t, allowH2);
      await pool.retire();
      await until(t, () => open.size === 0);
    });
  });
}
