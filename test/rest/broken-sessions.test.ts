// An HTTP/2 connection that a broken answer ends, or that its server is about to end.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { request } from 'undici';
import { startPlugin, startProviders } from '../fixtures/fleet.ts';
import { sendThrough, startPool } from '../fixtures/pooled-request.ts';
import { frames, startRawH2 } from '../fixtures/raw-h2.ts';

const answer = (stream: number) => Buffer.concat([frames.headers(stream), frames.lastData(stream, '{}')]);

// They wait for pauses between tries: side by side.
describe('an answer that ends its connection', { concurrency: true }, () => {
  for (const [name, broken] of Object.entries({
    'a promise of another answer': frames.pushPromise,
    'headers that cannot be unpacked': frames.badHeaders,
    'more than the length that it has named': (stream: number) =>
      Buffer.concat([frames.headersWithLength(stream, '5'), frames.lastData(stream, 'hello, hello')]),
    'no frames': frames.rubbish,
  }))
    for (const method of ['GET', 'POST'] as const)
      test(`${name}: costs no ${method} that is sent as soon as it has come`, async (t) => {
        const { profile, url, requests } = await startRawH2(t, (socket, stream, number) =>
          socket.write(number === 2 ? broken(stream) : answer(stream)),
        );
        const { dispatcher } = startProviders(t, await startPlugin(t)).getConfig(profile);
        const body = method === 'POST' ? '{}' : null;
        const send = async () => (await request(url, { dispatcher, method, body })).body.text();
        assert.equal(await send(), '{}');
        // A GET goes out again by itself, on another connection.
        const first = await send().catch(() => 'failed');
        const seen = requests();
        const next = [send(), send(), send()];
        assert.deepEqual(await Promise.all(next), ['{}', '{}', '{}'], first);
        assert.equal(requests(), seen + 3);
      });
});

test('a stream that is quiet after a GOAWAY goes on, though it cannot be pinged', async (t) => {
  const { url: server } = await startRawH2(t, (socket, stream) => {
    socket.write(Buffer.concat([frames.headers(stream), frames.goAway(0x7fffffff)]));
    // Much longer than a silent peer is waited for.
    setTimeout(() => socket.write(frames.lastData(stream, '{}')), 1_800);
  });
  const { pool, url } = startPool(t, Number(new URL(server).port), { pingIntervalMs: 500 });
  assert.equal(await sendThrough(pool, url, '/watch', {}), 200);
});

test('a stream on which data comes goes on, though the answers to pings wait behind it', async (t) => {
  const { url: server } = await startRawH2(
    t,
    (socket, stream) => {
      socket.write(frames.headers(stream));
      const timer = setInterval(() => socket.write(frames.data(stream, '{}')), 100);
      setTimeout(() => {
        clearInterval(timer);
        socket.write(frames.lastData(stream, '{}'));
      }, 2_500);
    },
    { answersPings: false },
  );
  const { pool, url } = startPool(t, Number(new URL(server).port), { pingIntervalMs: 500 });
  assert.equal(await sendThrough(pool, url, '/watch', {}), 200);
});
