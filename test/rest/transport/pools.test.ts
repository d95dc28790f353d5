import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createSecureServer, type Http2ServerResponse } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import { describe, type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { listen } from '../../fixtures/listen.ts';
import { sendThrough, startPool } from '../../fixtures/pooled-request.ts';
import { tlsOptions } from '../../fixtures/raw-h2.ts';
import { until } from '../../fixtures/until.ts';

/** A server that never closes a connection by itself. It answers at once, or those with `slow` in their path with `release`. */
async function startServer(t: TestContext) {
  const slow: Http2ServerResponse[] = [];
  const server = createSecureServer({ ...tlsOptions, allowHTTP1: true }, ({ url }, response) => {
    if (url.includes('slow')) slow.push(response);
    else response.end('{}');
  });
  // For HTTP/1.1; the library's types do not know it here.
  Object.assign(server, { keepAliveTimeout: 0 });
  return { ...(await listen(t, server)), slow };
}

describe('short requests', () => {
  test('share 32 sockets, whatever their headers, which go when nobody has used them for a while', async (t) => {
    const { port, open } = await startServer(t);
    const { pool, url } = startPool(t, port, { keepAliveTimeoutMs: 500 });
    assert.equal(await sendThrough(pool, url, '/'), 200);
    assert.equal(open.size, 1);
    let most = 0;
    const caller = async (_: unknown, index: number) => {
      for (let i = 0; i < 8; i++) {
        // Every other one repeats a header, as those with several groups to impersonate do.
        const headers = { 'impersonate-group': index % 2 === 0 ? ['a', `b${index}`] : 'a' };
        assert.equal(await sendThrough(pool, url, '/', headers), 200);
        most = Math.max(most, open.size);
      }
    };
    await Promise.all(Array.from({ length: 60 }, caller));
    assert.ok(most > 1 && most <= 32, `${most} sockets`);
    await until(t, () => open.size === 0);
    // They come again with the load.
    await Promise.all(Array.from({ length: 60 }, caller));
    assert.ok(open.size > 1, `${open.size} sockets`);
  });

  test('one after the other keep their socket, though a response may be read before Node has reported what it wrote', async (t) => {
    const arrived = new Int32Array(new SharedArrayBuffer(4));
    const thread = new Worker(new URL('../cluster-thread.ts', import.meta.url), { workerData: arrived.buffer });
    t.after(() => thread.terminate());
    const [{ url }] = await once(thread, 'message');
    const { pool } = startPool(t, Number(new URL(url).port), {});
    let opened = 0;
    const onSocket = () => (opened += 1);
    subscribe('undici:client:connected', onSocket);
    t.after(() => unsubscribe('undici:client:connected', onSocket));
    for (let i = 0; i < 200; i++)
      assert.equal(await sendThrough(pool, url, '/version', { authorization: 'Bearer token' }), 200);
    assert.equal(opened, 1);
  });

  test('leave no socket open for longer than ours allows, though the server would', async (t) => {
    const server = createTlsServer(tlsOptions, (_incoming, response) => response.end('{}'));
    server.keepAliveTimeout = 300_000;
    const { port, open } = await listen(t, server);
    const { pool, url } = startPool(t, port, { keepAliveTimeoutMs: 500 });
    assert.equal(await sendThrough(pool, url, '/'), 200);
    await until(t, () => open.size === 0);
  });

  test('that the server is slow to answer, on every socket, hold up the others for a moment only', async (t) => {
    const { port, slow } = await startServer(t);
    const { pool, url } = startPool(t, port, { connectTimeoutMs: 2_000 });
    const hanging = Array.from({ length: 80 }, () => sendThrough(pool, url, '/slow'));
    await until(t, () => slow.length >= 32);
    assert.equal(await sendThrough(pool, url, '/'), 200);
    await until(t, () => slow.length === 80);
    for (const response of slow) response.end('{}');
    assert.deepEqual(new Set(await Promise.all(hanging)), new Set([200]));
  });
});
