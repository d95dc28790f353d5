import assert from 'node:assert/strict';
import { createSecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { request } from 'undici';
import { CredentialsError } from '../../src/index.ts';
import { type Silence, startDeadServer } from '../fixtures/dead-server.ts';
import { profileFor, startCluster, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { listen } from '../fixtures/listen.ts';
import { profileAt, tlsOptions } from '../fixtures/raw-h2.ts';

const ended = (error: unknown) => (error instanceof CredentialsError ? Reflect.get(error, 'code') : error);

/** For what has to be done before the limit that a test is about: a busy machine takes its time. */
const longEnoughMs = 3_000;

// All at once: each of them waits for its limit.
describe('a server that is dead', { concurrency: true }, () => {
  for (const [silence, expected, options] of [
    ['TLS', 'CONNECT_TIMEOUT', { connectTimeoutMs: 1_000 }],
    ['HTTP/2', 'RESPONSE_TIMEOUT', { requestTimeoutMs: 1_000 }],
    ['HTTP/1.1', 'RESPONSE_TIMEOUT', { requestTimeoutMs: 1_000 }],
    ['the body', 'RESPONSE_TIMEOUT', { requestTimeoutMs: 1_000 }],
    ['an http proxy', 'PROXY_TIMEOUT', { connectTimeoutMs: 1_000 }],
    ["an http proxy's answer", 'PROXY_TIMEOUT', { connectTimeoutMs: 1_000 }],
    ['an http proxy after its answer', 'CONNECT_TIMEOUT', { connectTimeoutMs: longEnoughMs }],
    ["a socks5 proxy's answer", 'PROXY_TIMEOUT', { connectTimeoutMs: 1_000 }],
  ] as const satisfies readonly (readonly [Silence, string, object])[]) {
    test(`since it falls silent in ${silence}: its callers fail together, and hold up nobody else`, async (t) => {
      const [dead, plugin, healthy] = [await startDeadServer(t, silence), await startPlugin(t), await startCluster(t)];
      const providers = startProviders(t, plugin, options);
      const core = providers.getConfig(dead.profile).makeApiClient(CoreV1Api);
      // Without the short limits of the others, which a slow machine takes.
      const good = startProviders(t, plugin).getConfig(profileFor(healthy)).makeApiClient(CoreV1Api);
      const failures = Array.from({ length: 40 }, () => core.listNamespace().then(() => 'an answer', ended));
      assert.equal((await good.listNamespace()).items.length, 2);
      assert.deepEqual(new Set(await Promise.all(failures)), new Set([expected]));
      // One handshake for all of them: nobody waited for somebody else's to fail.
      if ('connectTimeoutMs' in options) assert.equal(dead.connections(), 1);
    });
  }

  for (const before of ['HTTP/2, with a hundred watches', 'HTTP/1.1'] as const) {
    test(`after it has worked: those who wait for new connections fail together (${before})`, async (t) => {
      let silent = false;
      let dials = 0;
      const h1 = createHttpsServer(tlsOptions, (_request, response) => {
        response.setHeader('connection', 'close').end('{}');
      });
      const h2 = createSecureServer(tlsOptions).on('stream', (stream, headers) => {
        stream.on('error', () => undefined).respond({ ':status': 200 });
        if (headers[':path']?.includes('watch')) stream.write('{}\n');
        else stream.end('{}');
      });
      const inner = before === 'HTTP/1.1' ? h1 : h2;
      const { port } = await listen(
        t,
        createServer((socket) => {
          t.after(() => socket.destroy());
          socket.on('error', () => undefined);
          dials += 1;
          if (!silent) inner.emit('connection', socket);
        }),
      );
      const providers = startProviders(t, await startPlugin(t), { connectTimeoutMs: longEnoughMs });
      const { dispatcher } = providers.getConfig(profileAt(port));
      const url = `https://127.0.0.1:${port}/x`;
      const watches = Array.from({ length: before === 'HTTP/1.1' ? 0 : 100 }, () =>
        request(`${url}?watch=true`, { dispatcher }),
      );
      for (const { body } of await Promise.all(watches)) body.on('error', () => undefined).resume();
      if (before === 'HTTP/1.1') await (await request(url, { dispatcher })).body.dump();
      silent = true;
      dials = 0;
      const failed = Array.from({ length: 80 }, () => request(url, { dispatcher }).then(() => 'an answer', ended));
      assert.deepEqual(new Set(await Promise.all(failed)), new Set(['CONNECT_TIMEOUT']));
      // One row of dials (and one for short requests): whoever waited for these does not wait for the next ones.
      assert.ok(dials <= (before === 'HTTP/1.1' ? 32 : 2), `${dials} dials`);
      await providers.close();
    });
  }
});
