// What a server does with one stream of an HTTP/2 connection, frame by frame.
import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { describe, type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { CoreV1Api } from '@kubernetes/client-node';
import { fetch, request } from 'undici';
import { AuthenticatedDispatcher } from '../../src/rest/request/dispatcher.ts';
import { createH2Server, startConfigAt } from '../fixtures/config-at.ts';
import { startPlugin, startProviders } from '../fixtures/fleet.ts';
import { frames, resets, startRawH2 } from '../fixtures/raw-h2.ts';
import { until } from '../fixtures/until.ts';

/** A server that does what the test says with each request, and a config for it. */
async function start(t: TestContext, onRequest: Parameters<typeof startRawH2>[1]) {
  const server = await startRawH2(t, onRequest);
  const providers = startProviders(t, await startPlugin(t));
  const config = providers.getConfig(server.profile);
  return { ...server, providers, config, dispatcher: config.dispatcher };
}

test('a stream reset with ENHANCE_YOUR_CALM blames this side, is no answer to be sent again, and retires its connection', async (t) => {
  const sockets = new Set<object>();
  const server = createH2Server((stream) => {
    const { socket } = stream.session ?? {};
    if (socket) sockets.add(socket);
    if (sockets.size === 1) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    else {
      stream.respond({ ':status': 200 });
      stream.end('{}');
    }
  });
  const { dispatcher, url } = await startConfigAt(t, server);
  const sent = request(url, { dispatcher, method: 'POST', body: '{}' });
  await assert.rejects(sent, {
    code: 'CONNECTION_LOST',
    message:
      /ENHANCE_YOUR_CALM.*the server may have executed it: the HTTP\/2 connection of this process was over its limits/,
  });
  const next = await request(url, { dispatcher, method: 'POST', body: '{}' });
  assert.deepEqual([await next.body.text(), sockets.size], ['{}', 2]);
});

describe('a stream that the server refuses', () => {
  for (const method of ['GET', 'POST'] as const) {
    test(`is sent again: no ${method} of eight is lost`, async (t) => {
      const { dispatcher, url } = await start(t, (socket, stream, count) => {
        if (count <= 8) socket.write(frames.reset(stream, resets.REFUSED_STREAM));
        else socket.write(Buffer.concat([frames.headers(stream), frames.lastData(stream, '{}')]));
      });
      const body = method === 'POST' ? { body: '{}' } : {};
      const send = () => request(url, { dispatcher, method, ...body });
      const answers = await Promise.all(Array.from({ length: 8 }, async () => (await send()).body.text()));
      assert.deepEqual(new Set(answers), new Set(['{}']));
    });
  }

  test('is sent again five times at once, for callers that retry by themselves too', async (t) => {
    const { dispatcher, url, requests } = await start(t, (socket, stream) =>
      socket.write(frames.reset(stream, resets.REFUSED_STREAM)),
    );
    assert.ok(dispatcher instanceof AuthenticatedDispatcher);
    const sent = request(url, { dispatcher: dispatcher.withoutRetries });
    await assert.rejects(sent, { code: 'CONNECTION_LOST' });
    assert.equal(requests(), 6);
  });

  for (const end of ['providers.close()', 'dispatcher.destroy()'] as const) {
    test(`and is not answered afterwards ends with ${end}`, async (t) => {
      const { providers, config, dispatcher, url, requests } = await start(t, (socket, stream, count) => {
        if (count <= 4) socket.write(frames.reset(stream, resets.REFUSED_STREAM));
      });
      const sent = [
        request(url, { dispatcher }),
        fetch(url, { dispatcher }).catch(({ cause }) => Promise.reject(cause)),
        config.makeApiClient(CoreV1Api).listNamespace(),
      ];
      const ended = Promise.all(sent.map((one) => assert.rejects(one, { code: 'CONFIG_CLOSED' })));
      await until(t, () => requests() >= 6);
      if (end === 'providers.close()') await providers.close();
      else await dispatcher.destroy();
      await ended;
    });
  }
});

describe('an answer that the server cuts off with RST_STREAM', () => {
  for (const [name, reason] of Object.entries(resets)) {
    test(`(${name}) is an error for every client, and harms no other request`, async (t) => {
      let whole = false;
      const { config, dispatcher, url } = await start(t, (socket, stream) => {
        socket.write(Buffer.concat([frames.headers(stream), frames.data(stream, '{"items":[')]));
        socket.write(whole ? frames.lastData(stream, ']}') : frames.reset(stream, reason));
      });
      const lost = { code: 'CONNECTION_LOST' };
      await assert.rejects(async () => (await request(url, { dispatcher })).body.text(), lost);
      // fetch may hear of it before it has told anybody of the answer.
      await assert.rejects(async () => (await fetch(url, { dispatcher })).text());
      await assert.rejects(config.makeApiClient(CoreV1Api).readNamespacedPodLog({ name: 'a', namespace: 'b' }), lost);
      whole = true;
      assert.equal(await (await request(url, { dispatcher })).body.text(), '{"items":[]}');
    });

    test(`(${name}) and whose length was told is no answer of a wrong length`, async (t) => {
      const { dispatcher, url } = await start(t, (socket, stream) => {
        const begins = [frames.headersWithLength(stream, '100'), frames.data(stream, '{"items":[')];
        socket.write(Buffer.concat([...begins, frames.reset(stream, reason)]));
      });
      const get = async () => (await request(url, { dispatcher })).body.text();
      await assert.rejects(get(), { code: 'CONNECTION_LOST' });
    });

    test(`(${name}) after its end is whole`, async (t) => {
      const { dispatcher, url } = await start(t, (socket, stream) => {
        const answer = [frames.headers(stream), frames.lastData(stream, '{}'), frames.reset(stream, reason)];
        socket.write(Buffer.concat(answer));
      });
      const get = async () => (await request(url, { dispatcher })).body.text();
      assert.equal(await get(), '{}');
      assert.equal(await get(), '{}');
    });
  }
});

describe('a GOAWAY that arrives between the sending of requests and their writing', () => {
  for (const lastStream of [2 ** 31 - 1, 1]) {
    test(`loses none of them, and ends no process (last stream ${lastStream})`, async (t) => {
      const connections: TLSSocket[] = [];
      const { dispatcher, url } = await start(t, (socket, stream) => {
        if (!connections.includes(socket)) connections.push(socket);
        socket.write(Buffer.concat([frames.headers(stream), frames.lastData(stream, '{}')]));
      });
      const send = async (method: 'GET' | 'POST') =>
        (await request(url, { dispatcher, method, ...(method === 'POST' ? { body: '{}' } : {}) })).body.text();
      for (let round = 0; round < 5; round++) {
        await send('GET');
        const answers = await new Promise<readonly string[]>((resolve, reject) => {
          // Node writes streams at the end of a turn of the event loop. Within this one it reads first.
          setTimeout(() => {
            connections.at(-1)?.write(frames.goAway(lastStream));
            Promise.all([send('GET'), send('POST'), send('GET')]).then(resolve, reject);
          });
        });
        assert.deepEqual(answers, ['{}', '{}', '{}']);
      }
    });
  }
});
