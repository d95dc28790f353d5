// What stays open on an HTTP/2 connection after a request has ended.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants, createSecureServer, type ServerHttp2Stream } from 'node:http2';
import { describe, test } from 'node:test';
import { type Dispatcher, request } from 'undici';
import { startPlugin, startProviders } from '../fixtures/fleet.ts';
import { listen } from '../fixtures/listen.ts';
import { profileAt, tlsOptions } from '../fixtures/raw-h2.ts';
import { until } from '../fixtures/until.ts';

const long = 'x'.repeat(600_000);

describe('a server that has answered before it has read the body', () => {
  for (const [kind, body] of [
    ['a text', () => long],
    ['a blob', () => new Blob([long])],
    [
      'a stream without an end',
      async function* () {
        for (;;) yield Buffer.from(long.slice(0, 1_000));
      },
    ],
  ] as const) {
    test(`is told that the rest of ${kind} does not come`, async (t) => {
      const streams: ServerHttp2Stream[] = [];
      const server = createSecureServer(tlsOptions);
      server.on('session', (session) => {
        session.on('error', () => undefined);
        t.after(() => session.destroy());
      });
      server.on('stream', (stream) => {
        streams.push(stream.on('error', () => undefined));
        const answer = () => {
          stream.pause();
          stream.respond({ ':status': 200 });
          stream.end('{}');
        };
        // Nothing is read after the beginning of a body.
        if (streams.length === 1) stream.once('data', answer);
        else answer();
      });
      const { port } = await listen(t, server);
      const { dispatcher } = startProviders(t, await startPlugin(t)).getConfig(profileAt(port));
      const sent = body() as NonNullable<Dispatcher.DispatchOptions['body']>; // undici takes more than its types name
      const answer = await request(`https://127.0.0.1:${port}/x`, { dispatcher, method: 'POST', body: sent });
      assert.deepEqual([answer.statusCode, await answer.body.text()], [200, '{}']);
      await until(t, () => streams[0]?.closed === true);
      assert.equal(streams[0]?.rstCode, constants.NGHTTP2_CANCEL);
      // The connection goes on.
      const next = await request(`https://127.0.0.1:${port}/x`, { dispatcher });
      assert.equal(await next.body.text(), '{}');
      assert.equal(streams.length, 2);
    });
  }
});

test('a tunnel (CONNECT) whose other end has nothing more to say stays open for what is sent into it', async (t) => {
  const server = createSecureServer(tlsOptions);
  const { promise: received, resolve } = Promise.withResolvers<string>();
  server.on('session', (session) => {
    session.on('error', () => undefined);
    t.after(() => session.destroy());
  });
  server.on('stream', (stream) => {
    let text = '';
    stream.on('error', () => resolve('it was cut off'));
    stream.on('data', (chunk) => {
      text += chunk;
    });
    stream.on('end', () => resolve(text));
    stream.respond({ ':status': 200 });
    stream.end();
  });
  const { port } = await listen(t, server);
  const { dispatcher } = startProviders(t, await startPlugin(t)).getConfig(profileAt(port));
  const origin = `https://127.0.0.1:${port}`;
  const { socket } = await dispatcher.connect({ origin, path: `127.0.0.1:${port}` });
  socket.resume();
  await once(socket, 'end');
  await new Promise((done) => setImmediate(done));
  socket.end('more');
  assert.equal(await received, 'more');
});
