import assert from 'node:assert/strict';
import { createSecureServer } from 'node:http2';
import { test } from 'node:test';
import { listen } from '../../fixtures/listen.ts';
import { sendThrough, startPool } from '../../fixtures/pooled-request.ts';
import { tlsOptions } from '../../fixtures/raw-h2.ts';
import { until } from '../../fixtures/until.ts';

test('the sockets for short requests are 32 at most beside the one for everything, and go when nobody has used them for a while', async (t) => {
  // It never closes a connection by itself.
  const server = createSecureServer({ ...tlsOptions, allowHTTP1: true }, (_request, response) => response.end('{}'));
  // For HTTP/1.1; the library's types do not know it here.
  Object.assign(server, { keepAliveTimeout: 0 });
  const { port, open } = await listen(t, server);
  const { pool, url } = startPool(t, port, { keepAliveTimeoutMs: 500 });
  assert.equal(await sendThrough(pool, url, '/'), 200);
  assert.equal(open.size, 1);
  let most = 0;
  const caller = async () => {
    for (let i = 0; i < 8; i++) {
      assert.equal(await sendThrough(pool, url, '/'), 200);
      most = Math.max(most, open.size);
    }
  };
  await Promise.all(Array.from({ length: 60 }, caller));
  assert.ok(most > 1 && most <= 33, `${most} sockets`);
  // The one for everything is idle as well, and may go before the last of them.
  await until(t, () => open.size <= 1);
  // They come again with the load.
  await Promise.all(Array.from({ length: 60 }, caller));
  assert.ok(open.size > 1, `${open.size} sockets`);
});
