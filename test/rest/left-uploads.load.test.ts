// Bodies that are given up, by the server's early answer or by the caller. Node's HTTP/2 keeps their unsent bytes for as long as
// the connection lives, and refuses every response at 10 MB of them.
import assert from 'node:assert/strict';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { type Dispatcher, request } from 'undici';
import { startConfigAt } from '../fixtures/config-at.ts';
import { tlsOptions } from '../fixtures/raw-h2.ts';
import { statusOf } from '../fixtures/requests.ts';
import { until } from '../fixtures/until.ts';

const tooLarge = Buffer.alloc(5_000_000, 'x');
const forbidden = Buffer.alloc(1_400_000, 'x');
/** More than Node holds for a connection. */
const uploadsOf = (manner: string) => (manner.endsWith('403') ? 10 : 4);

for (const [speaks, allowHTTP1] of [
  ['HTTP/2 and HTTP/1.1', true],
  ['HTTP/2 alone', false],
] as const) {
  describe(`at a server that speaks ${speaks}, uploads that are given up`, () => {
    for (const [manner, path] of [
      ['answered early with 413', '/api/v1/namespaces/a/configmaps'],
      ['answered early with 403', '/api/v1/namespaces/a/configmaps'],
      ['aborted by their callers', '/api/v1/namespaces/a/configmaps'],
      ['answered early with 413', '/api/v1/namespaces/a/services/b/proxy/upload'],
    ] as const) {
      test(`(${manner}, at ${path}) harm no later request, and no watch`, async (t) => {
        let created = 0;
        const server = createSecureServer({ ...tlsOptions, allowHTTP1 }, (incoming, response) => {
          answer(incoming, response, () => (created += 1));
        });
        server.on('session', (session) => session.on('error', () => undefined));
        const { dispatcher, providers, port } = await startConfigAt(t, server);
        const origin = `https://127.0.0.1:${port}`;
        const watch = await request(`${origin}/api/v1/pods?watch=true`, { dispatcher });
        let events = '';
        watch.body.on('data', (chunk) => {
          events += chunk;
        });
        watch.body.on('error', (error) => {
          events += error.message;
        });
        for (let round = 1; round <= uploadsOf(manner); round += 1) {
          await upload(manner, { origin, path, dispatcher });
          const small = await request(origin + path, { dispatcher, method: 'POST', body: '{}' });
          assert.deepEqual([small.statusCode, await small.body.text()], [201, '{}'], `after ${round} uploads`);
          assert.equal(created, round, 'executed once');
        }
        await until(t, () => events.length >= 3);
        assert.match(events, /^(?:\{\})+$/, 'the watch goes on');
        watch.body.on('error', () => undefined).destroy();
        await providers.close();
      });
    }
  });
}

for (const [length, where] of [
  // More than the buffers of both ends hold, and less.
  [64 * 1024 * 1024, 'in this process'],
  [200_000, 'in the buffers of the system'],
] as const)
  test(`a server that answers early on HTTP/1.1, and reads no more of a body that is ${where}, gets the next request on another connection`, async (t) => {
    let bodies = 0;
    const server = createTlsServer(tlsOptions, (incoming, response) => {
      incoming.on('error', () => undefined);
      if (incoming.url === '/huge') {
        incoming.once('data', () => {
          incoming.pause();
          response.writeHead(413).end('{}');
        });
        return;
      }
      bodies += 1;
      incoming.resume().on('end', () => response.writeHead(201).end('{}'));
    });
    const { dispatcher, port, connections } = await startConfigAt(t, server);
    const send = (path: string, body: Buffer) =>
      statusOf(`https://127.0.0.1:${port}${path}`, { dispatcher, method: 'POST', body });
    assert.equal(await send('/huge', Buffer.alloc(length)), 413);
    assert.equal(await send('/small', Buffer.from('{}')), 201);
    assert.deepEqual([bodies, connections()], [1, 2]);
  });

describe('uploads at once, more of them than Node queues for an HTTP/2 connection', () => {
  for (const [speaks, allowHTTP1, path] of [
    ['HTTP/2 alone', false, '/api/v1/namespaces/a/configmaps'],
    ['HTTP/1.1 too, below a proxy subresource', true, '/api/v1/namespaces/a/services/b/proxy/upload'],
  ] as const)
    for (const form of ['bytes', 'a text', 'a stream'] as const)
      test(`are answered like all others, each as ${form}, by a slow server that speaks ${speaks}`, async (t) => {
        const reads: (() => void)[] = [];
        const server = createSecureServer({ ...tlsOptions, allowHTTP1 }, (incoming, response) => {
          const answer = (size: number) => incoming.on('end', () => response.end(String(size)));
          const size = Number(incoming.headers['content-length'] ?? 0);
          if (size < 100) answer(size).resume();
          else {
            let read = 0;
            reads.push(() =>
              incoming.on('data', ({ length }) => (read += length)).on('end', () => response.end(`${read}`)),
            );
          }
        });
        server.on('session', (session) => session.on('error', () => undefined));
        const { dispatcher, port } = await startConfigAt(t, server);
        const send = async (text: string) => {
          const body =
            form === 'bytes' ? Buffer.from(text) : form === 'a text' ? text : Readable.from([Buffer.from(text)]);
          const headers = { 'content-length': String(text.length) };
          const url = `https://127.0.0.1:${port}${path}`;
          const answer = await request(url, { dispatcher, method: 'POST', body, headers });
          return [answer.statusCode, Number(await answer.body.text())];
        };
        await send('{}');
        const uploads = Array.from({ length: 4 }, () => send(tooLarge.toString()));
        await until(t, () => reads.length === 4);
        assert.deepEqual(await send('{}'), [200, 2]);
        for (const read of reads) read();
        for (const answer of await Promise.all(uploads)) assert.deepEqual(answer, [200, tooLarge.length]);
      });
});

function answer(incoming: Http2ServerRequest, response: Http2ServerResponse, create: () => void): void {
  incoming.on('error', () => undefined);
  response.on('error', () => undefined);
  const early = Number(incoming.headers['x-early'] ?? 0);
  if (incoming.url.includes('watch')) {
    const timer = setInterval(() => response.write('{}'), 50);
    response.on('close', () => clearInterval(timer));
  } else if (early > 0) {
    incoming.once('data', () => {
      // An API server says on HTTP/1.1 that it reads no more of a long body.
      const headers = incoming.httpVersionMajor === 1 ? { connection: 'close' } : {};
      incoming.pause();
      response.writeHead(early, headers).end('{}');
    });
  } else if (early === 0) {
    incoming.resume().on('end', () => {
      create();
      response.writeHead(201).end('{}');
    });
  }
}

async function upload(
  manner: string,
  { origin, path, dispatcher }: { origin: string; path: string; dispatcher: Dispatcher },
): Promise<void> {
  const send = (early: number, body: Buffer, signal: AbortSignal | null = null) =>
    statusOf(origin + path, { dispatcher, method: 'POST', body, headers: { 'x-early': String(early) }, signal });
  if (manner.startsWith('aborted')) {
    await assert.rejects(send(-1, tooLarge, AbortSignal.timeout(100)), { name: 'TimeoutError' });
    return;
  }
  const status = manner.endsWith('413') ? 413 : 403;
  assert.equal(await send(status, status === 413 ? tooLarge : forbidden), status);
}
