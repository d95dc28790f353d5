// A server that has died without a word, on connections of HTTP/1.1, which know no pings.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer as createTlsServer } from 'node:https';
import { describe, type TestContext, test } from 'node:test';
import { parseProxy } from '../../src/rest/transport/proxy.ts';
import { openTunnel } from '../../src/rest/transport/tunnel.ts';
import { impatientConfig } from '../fixtures/impatient.ts';
import { listen } from '../fixtures/listen.ts';
import { startHttpProxy } from '../fixtures/proxies.ts';
import { placeAt, tlsOptions } from '../fixtures/raw-h2.ts';
import { statusOf } from '../fixtures/requests.ts';
import { until } from '../fixtures/until.ts';

const responseTimeoutMs = 1_000;

/** A server whose first connection goes deaf after one response, and a config for it that is less patient than usual. */
async function startDeaf(t: TestContext, { requestTimeoutMs }: { readonly requestTimeoutMs?: number } = {}) {
  const seen: string[] = [];
  const server = createTlsServer(tlsOptions, (incoming, response) => {
    const isDeaf = deaf !== undefined && incoming.socket.remotePort === deaf;
    deaf ??= incoming.socket.remotePort;
    seen.push(`${incoming.method} ${isDeaf ? 'on the deaf connection' : 'on another'}`);
    if (!isDeaf) response.end('{}');
  });
  let deaf: number | undefined;
  const { port } = await listen(t, server);
  const [liveness, options] = requestTimeoutMs ? [{}, { requestTimeoutMs }] : [{ responseTimeoutMs }, {}];
  const { dispatcher } = impatientConfig(t, placeAt(port), liveness, options);
  const send = (method: 'GET' | 'POST' | 'DELETE') => statusOf(`https://127.0.0.1:${port}/x`, { dispatcher, method });
  assert.equal(await send('GET'), 200);
  seen.length = 0;
  return { send, seen, port };
}

describe('a server that has died without a word, at the other end of a connection that was in use', () => {
  test('gets a GET a second time, on another connection', async (t) => {
    const { send, seen } = await startDeaf(t);
    assert.equal(await send('GET'), 200);
    assert.deepEqual(seen, ['GET on the deaf connection', 'GET on another']);
  });

  for (const method of ['POST', 'DELETE'] as const)
    test(`does not get a ${method} a second time, and the next one uses another connection`, async (t) => {
      const { send, seen } = await startDeaf(t);
      await assert.rejects(send(method), { code: 'RESPONSE_TIMEOUT' });
      assert.equal(await send(method), 200);
      assert.deepEqual(seen, [`${method} on the deaf connection`, `${method} on another`]);
    });

  test('gets nothing a second time after requestTimeoutMs', async (t) => {
    const { send, seen } = await startDeaf(t, { requestTimeoutMs: 500 });
    await assert.rejects(send('GET'), { code: 'RESPONSE_TIMEOUT', message: /requestTimeoutMs/ });
    assert.deepEqual(seen, ['GET on the deaf connection']);
  });
});

/** Of an idle socket of this process to a port here: when it is probed, in hundredths of a second. */
async function probedIn(t: TestContext, port: number): Promise<number> {
  const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  let timer: readonly string[] = [];
  // Its kind is 2 for keep-alive. Right after a response another timer may be set.
  await until(t, async () => {
    const lines = (await readFile('/proc/self/net/tcp', 'utf8')).split('\n').map((line) => line.trim().split(/\s+/));
    // 01 is an established one: one of an earlier connection to the port may wait for its end (TIME_WAIT).
    timer = (lines.find(([, , peer, state]) => peer === remote && state === '01')?.[5] ?? '').split(':');
    return timer[0] === '02';
  });
  return Number.parseInt(timer[1] ?? '', 16);
}

describe('an idle connection is probed after 15 seconds', () => {
  test('that leads to the server', async (t) => {
    const { port } = await startDeaf(t);
    assert.ok((await probedIn(t, port)) <= 1_500);
  });

  for (const certificate of [undefined, { certificate: tlsOptions.cert, key: tlsOptions.key }])
    test(`that leads to an ${certificate ? 'https' : 'http'} proxy`, async (t) => {
      const { url } = await startHttpProxy(t, certificate ? { certificate } : {});
      const server = await listen(t, createTlsServer(tlsOptions));
      const place = placeAt(server.port);
      const proxy = parseProxy(url);
      const socket = await openTunnel(proxy, { ...place, server: place.url }, { timeoutMs: 5_000, signal: t.signal });
      t.after(() => socket.destroy());
      assert.ok((await probedIn(t, proxy.port)) <= 1_500);
    });
});
