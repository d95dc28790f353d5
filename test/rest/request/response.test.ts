import assert from 'node:assert/strict';
import { createSecureServer } from 'node:http2';
import { createServer } from 'node:https';
import { createServer as createTcpServer, type Server } from 'node:net';
import type { Writable } from 'node:stream';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { type StreamedBody, stream } from '../../../src/rest/request/response.ts';
import { startConfigAt } from '../../fixtures/config-at.ts';
import { tlsOptions } from '../../fixtures/raw-h2.ts';
import { until } from '../../fixtures/until.ts';

/** Headers have been sent, and `end` cuts the request off. */
interface Answer {
  readonly body: Writable;
  readonly cut: () => void;
}

/** A server that gives each answer's beginning, and hands the rest to the test. */
async function startServer(t: TestContext, protocol: 'HTTP/1.1' | 'HTTP/2') {
  const answers: Answer[] = [];
  const server =
    protocol === 'HTTP/2'
      ? createSecureServer(tlsOptions).on('stream', (body) => {
          body.on('error', () => undefined);
          body.respond({ ':status': 200 });
          answers.push({ body, cut: () => body.destroy(new Error('cut')) });
        })
      : createServer(tlsOptions, (_request, response) => {
          response.writeHead(200).flushHeaders();
          answers.push({ body: response, cut: () => response.destroy() });
        });
  return { answers, send: await startClient(t, server) };
}

/** Sends a GET to a server, through a config of ours. */
async function startClient(t: TestContext, server: Server) {
  const { dispatcher, url } = await startConfigAt(t, server);
  const options = { origin: new URL(url).origin, path: '/pods?watch=true', method: 'GET' } as const;
  return (signal?: AbortSignal) => stream((handler) => dispatcher.dispatch(options, handler), signal);
}

/** Reads to the end. */
async function rest(body: StreamedBody): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

for (const protocol of ['HTTP/1.1', 'HTTP/2'] as const) {
  describe(`an answer over ${protocol}`, () => {
    /** A request, and what the server makes of it. */
    const start = async (t: TestContext, signal?: AbortSignal) => {
      const { answers, send } = await startServer(t, protocol);
      const answer = await send(signal);
      const [served] = answers;
      assert.ok(served);
      return { ...answer, served };
    };

    test('is read as it comes, to its end', async (t) => {
      const { statusCode, body, served } = await start(t);
      assert.equal(statusCode, 200);
      const first = body.next();
      served.body.write('one');
      assert.equal(Buffer.concat((await first) ?? []).toString(), 'one');
      served.body.end('two');
      assert.equal(await rest(body), 'two');
      assert.equal(await body.next(), undefined);
    });

    test('is not read faster than its reader reads', async (t) => {
      const { body, served } = await start(t);
      const size = 8 * 1_024 * 1_024;
      served.body.end('x'.repeat(size));
      // The kernel and both ends keep something; far from all of it.
      let sent = -1;
      await until(t, async () => {
        const before = sent;
        sent = size - served.body.writableLength;
        for (let i = 0; i < 50; i++) await turn();
        return sent === before;
      });
      assert.ok(sent < size, `${sent} bytes were sent`);
      assert.equal((await rest(body)).length, size);
    });

    test('that breaks off gives what has come, and then why', async (t) => {
      const { body, served } = await start(t);
      served.body.write('the last word', () => setImmediate(served.cut));
      assert.equal(Buffer.concat((await body.next()) ?? []).toString(), 'the last word');
      await assert.rejects(body.next(), Error);
    });

    test('ends with the reason of the signal, also where that is no error, and the server sees it', async (t) => {
      for (const reason of [new Error('enough'), 'enough', undefined]) {
        const controller = new AbortController();
        const { body, served } = await start(t, controller.signal);
        const gone = new Promise((resolve) => served.body.on('close', resolve));
        controller.abort(reason);
        await gone;
        const failure = await body.next().catch((error: unknown) => error);
        assert.equal(failure, controller.signal.reason);
      }
    });

    test('that nobody reads to its end is given up, and the server sees it', async (t) => {
      const { body, served } = await start(t);
      const gone = new Promise((resolve) => served.body.on('close', resolve));
      body.destroy();
      body.destroy();
      await gone;
    });
  });
}

test("a request that waits for a connection is given up with the signal's reason", async (t) => {
  let connected = 0;
  const silent = createTcpServer((socket) => {
    connected += 1;
    t.after(() => socket.destroy());
  });
  const send = await startClient(t, silent);
  const controller = new AbortController();
  const asked = send(controller.signal);
  await until(t, () => connected > 0);
  controller.abort(new Error('enough'));
  await assert.rejects(asked, { message: 'enough' });
  await assert.rejects(send(controller.signal), { message: 'enough' });
});
