import assert from 'node:assert/strict';
import { createSecureServer } from 'node:http2';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { request } from 'undici';
import { impatientConfig } from '../../fixtures/impatient.ts';
import { listen } from '../../fixtures/listen.ts';
import { placeAt, tlsOptions } from '../../fixtures/raw-h2.ts';
import { statusOf } from '../../fixtures/requests.ts';
import { startDeparting } from '../departing-server.ts';

const rounds = 6;
const requestsPerRound = 30;
const patienceMs = 15_000;

const pingIntervalMs = 1_000;
/** A dispatcher for a server here. Node may miss that a connection is gone while it writes (nodejs/node#61304): the pings do not. */
const startDispatcher = (t: TestContext, port: number) =>
  impatientConfig(t, placeAt(port), { pingIntervalMs }).dispatcher;

test('a peer that has stopped is noticed, and one that only has nothing to say is left alone', async (t) => {
  const server = await startDeparting('h2', 'headers read', false, tlsOptions);
  t.after(() => server.close());
  const { body } = await request(`https://127.0.0.1:${server.port}/x`, { dispatcher: startDispatcher(t, server.port) });
  const answer = body.text();
  assert.equal(await Promise.race([answer, pause(5.5 * pingIntervalMs, 'quiet')]), 'quiet');
  server.depart('silence');
  await assert.rejects(answer, { code: 'CONNECTION_LOST' });
});

test('a request whose HTTP/2 connection is reset while its body is being written is CONNECTION_LOST', async (t) => {
  const server = await startDeparting('h2', 'request half written', false, tlsOptions);
  t.after(() => server.close());
  const departed = Promise.withResolvers<void>();
  async function* halves() {
    yield Buffer.alloc(100);
    await departed.promise;
    for (let i = 0; i < 100; i++) yield Buffer.alloc(10_000);
  }
  const answer = request(`https://127.0.0.1:${server.port}/x`, {
    dispatcher: startDispatcher(t, server.port),
    method: 'POST',
    body: Readable.from(halves()),
  });
  const lost = assert.rejects(answer, { code: 'CONNECTION_LOST' });
  await server.reached;
  server.depart('RST');
  departed.resolve();
  await lost;
});

test('every request is settled when the server resets an HTTP/2 connection on which much is being written', async (t) => {
  let requests = 0;
  const server = createSecureServer(tlsOptions, (incoming, response) => {
    requests += 1;
    incoming.on('error', () => undefined).resume();
    response.on('error', () => undefined);
    response.end(Buffer.alloc(requests % 2 === 0 ? 200_000 : 2));
    if (requests % 7 === 0) for (const socket of open) socket.resetAndDestroy();
  });
  server.on('session', (session) => session.on('error', () => undefined));
  const { port, open } = await listen(t, server);
  const dispatcher = startDispatcher(t, port);

  let unsettled = 0;
  const send = async (index: number): Promise<void> => {
    unsettled += 1;
    try {
      const body = index % 2 === 0 ? Buffer.alloc(index * 20_000) : null;
      // Short ones would go out on HTTP/1.1.
      const path = '/api/v1/pods?watch=true';
      // A GET would be sent again.
      await statusOf(`https://127.0.0.1:${port}${path}`, { dispatcher, body, method: 'POST' });
    } catch {
      // Lost with its connection.
    } finally {
      unsettled -= 1;
    }
  };
  for (let round = 0; round < rounds; round += 1) {
    const all: Promise<void>[] = [];
    for (let index = 0; index < requestsPerRound; index += 1) {
      all.push(send(index));
      if (index % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    const settled = new AbortController();
    await Promise.race([Promise.all(all), pause(patienceMs, undefined, settled).catch(() => undefined)]);
    settled.abort();
    assert.equal(unsettled, 0, `requests under way after ${patienceMs / 1000} s, in round ${round}`);
  }
});
