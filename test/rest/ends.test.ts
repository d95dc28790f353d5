// What ends a request that is between two tries, and the socket of a WebSocket.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { startConfigAt } from '../fixtures/config-at.ts';
import { restConfigFor } from '../fixtures/fleet-hub.ts';
import { placeAt, tlsOptions } from '../fixtures/raw-h2.ts';
import { endOfWatch } from '../fixtures/requests.ts';
import { openWebSocket, startTlsServer } from '../fixtures/tls-server.ts';
import { until } from '../fixtures/until.ts';

const ends = ['providers.close()', 'config.close()', 'dispatcher.destroy()'] as const;

/** A server that is overloaded for so many seconds. */
async function startBusy(t: TestContext, seconds: number) {
  let requests = 0;
  const server = createServer(tlsOptions, (_request, response) => {
    requests += 1;
    response.writeHead(503, { 'retry-after': String(seconds) }).end('{}');
  });
  const messages: string[] = [];
  const debug = (_fields: object, message: string) => messages.push(message);
  const logger = { warn: debug, debug };
  const { providers, config } = await startConfigAt(t, server, { logger });
  return { providers, config, messages, requests: () => requests };
}

type Busy = Awaited<ReturnType<typeof startBusy>>;
const end = async (how: (typeof ends)[number], { providers, config }: Pick<Busy, 'providers' | 'config'>) => {
  if (how === 'providers.close()') await providers.close();
  else if (how === 'config.close()') await config.close();
  else await config.dispatcher.destroy();
};
/** Timers that keep the process up. */
const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

for (const how of ends) {
  describe(how, () => {
    test('ends a request that waits for Retry-After, and leaves no timer', async (t) => {
      const busy = await startBusy(t, 50);
      const listed = busy.config.makeApiClient(CoreV1Api).listNamespace();
      const rejected = assert.rejects(listed, { code: 'CONFIG_CLOSED' });
      await until(t, () => busy.messages.some((message) => /sent again in 50000 ms/.test(message)));
      const before = timers();
      await end(how, busy);
      await rejected;
      assert.ok(timers() < before, `${timers()} of ${before}`);
      assert.equal(busy.requests(), 1);
    });

    test('ends a watch that waits for its next try', async (t) => {
      const busy = await startBusy(t, 1);
      const ended = endOfWatch(busy.config);
      await until(t, () => busy.messages.some((message) => /is tried again/.test(message)));
      await end(how, busy);
      const error = await ended;
      assert.ok(error instanceof Error);
      assert.equal(Reflect.get(Object(error.cause ?? error), 'code'), 'CONFIG_CLOSED');
    });
  });
}

test('a Retry-After of more than a minute is for the caller', async (t) => {
  const { config, requests } = await startBusy(t, 61);
  await assert.rejects(config.makeApiClient(CoreV1Api).listNamespace(), { code: 503 });
  assert.equal(requests(), 1);
});

test('dispatcher.destroy() ends a WebSocket, though its config is closed and nobody listens to its errors', async (t) => {
  const server = await startTlsServer(t);
  const config = restConfigFor(placeAt(server.port), 'token-1');
  const socket = await openWebSocket(config, server.url);
  await config.close();
  const closed = once(socket, 'close');
  await config.dispatcher.destroy();
  await closed;
  await until(t, () => server.open.size === 0);
});

test('providers.close() ends a connection that is being opened', async (t) => {
  const silent = createTcpServer((socket) => socket.resume());
  const { providers, config, open } = await startConfigAt(t, silent, { connectTimeoutMs: 600_000 });
  const refused = assert.rejects(config.fetch('/x'), { code: 'CONFIG_CLOSED' });
  await until(t, () => open.size === 1);
  await providers.close();
  await refused;
  await until(t, () => open.size === 0);
});
