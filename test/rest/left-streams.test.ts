// What stays open on an HTTP/2 connection after a request has ended.
import assert from 'node:assert/strict';
import { constants, type ServerHttp2Stream } from 'node:http2';
import { describe, test } from 'node:test';
import { type Dispatcher, request } from 'undici';
import { createH2Server, startConfigAt } from '../fixtures/config-at.ts';
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
      const server = createH2Server((stream) => {
        streams.push(stream);
        const answer = () => {
          stream.pause();
          stream.respond({ ':status': 200 });
          stream.end('{}');
        };
        // Nothing is read after the beginning of a body.
        if (streams.length === 1) stream.once('data', answer);
        else answer();
      });
      const { dispatcher, url } = await startConfigAt(t, server);
      const sent = body() as NonNullable<Dispatcher.DispatchOptions['body']>; // undici takes more than its types name
      const answer = await request(url, { dispatcher, method: 'POST', body: sent });
      assert.deepEqual([answer.statusCode, await answer.body.text()], [200, '{}']);
      await until(t, () => streams[0]?.closed === true);
      assert.equal(streams[0]?.rstCode, constants.NGHTTP2_CANCEL);
      // The connection goes on.
      const next = await request(url, { dispatcher });
      assert.equal(await next.body.text(), '{}');
      assert.equal(streams.length, 2);
    });
  }
});
