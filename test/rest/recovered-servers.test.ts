// A server, or the network before it, that was silent for a while: requests that come afterwards get an answer at once.
import assert from 'node:assert/strict';
import { createSecureServer } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import { createServer, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { CredentialProvidersOptions } from '../../src/index.ts';
import { startPlugin, startProviders } from '../fixtures/fleet.ts';
import { listen } from '../fixtures/listen.ts';
import { sendThrough, startPool } from '../fixtures/pooled-request.ts';
import { profileAt, tlsOptions } from '../fixtures/raw-h2.ts';
import { statusOf } from '../fixtures/requests.ts';
import { until } from '../fixtures/until.ts';

/** A server of HTTP/2 and HTTP/1.1 that can fall silent: new connections stay open, and hear nothing. And a config for it. */
async function startServer(t: TestContext, options: CredentialProvidersOptions = { connectTimeoutMs: 600_000 }) {
  const server = createSecureServer({ ...tlsOptions, allowHTTP1: true }, (_request, response) => response.end('{}'));
  const dropped = new Set<Socket>();
  const state = { silent: false };
  const { port, connections } = await listen(
    t,
    createServer((socket) => {
      t.after(() => socket.destroy());
      if (state.silent) dropped.add(socket.resume());
      else server.emit('connection', socket);
    }),
  );
  const providers = startProviders(t, await startPlugin(t), options);
  const config = providers.getConfig(profileAt(port));
  await config.ready();
  const get = (more = {}) => statusOf(`https://127.0.0.1:${port}/version`, { dispatcher: config.dispatcher, ...more });
  return {
    providers,
    config,
    get,
    /** So far. */
    connections,
    dropped,
    fallSilent: () => {
      state.silent = true;
    },
    comeBack: () => {
      state.silent = false;
    },
  };
}

describe('a server that is back after a silent handshake', { concurrency: true }, () => {
  /** A server that says nothing, and whose first request was given up while its connection was being opened. */
  async function giveUpFirst(t: TestContext) {
    const server = await startServer(t);
    server.fallSilent();
    const given = new AbortController();
    const first = server.get({ signal: given.signal });
    await until(t, () => server.connections() === 1);
    given.abort(new Error('enough'));
    await assert.rejects(first, { message: 'enough' });
    return server;
  }

  test('answers a new request, though the dial of one that was given up goes on', async (t) => {
    const { get, connections, comeBack } = await giveUpFirst(t);
    comeBack();
    assert.equal(await get(), 200);
    assert.equal(connections(), 2);
  });

  test('answers a new request, and those that still wait for a dial older than a second', async (t) => {
    const { get, connections, fallSilent, comeBack } = await startServer(t);
    fallSilent();
    const first = get();
    await until(t, () => connections() === 1);
    comeBack();
    // The second for which a dial counts.
    await pause(1_050);
    assert.equal(await get(), 200);
    assert.equal(await first, 200);
    // The two that answered, at most, and the one that never will.
    assert.ok(connections() <= 3, `${connections()} connections`);
  });

  test('the failure of an old dial rejects no request that came later', async (t) => {
    const { get, connections, dropped, config } = await giveUpFirst(t);
    let outcome = 'waits';
    const later = get().then(String, (error: Error) => error.message);
    later.then((text) => {
      outcome = text;
    });
    await until(t, () => connections() === 2);
    const [oldest] = dropped;
    oldest?.destroy();
    // A round through the event loop in which the failure would be heard.
    await until(t, () => oldest?.destroyed === true);
    await pause(100);
    assert.equal(outcome, 'waits');
    await config.close();
  });
});

// They wait in real time: side by side.
describe('a peer that is silent', { concurrency: true }, () => {
  test('has a bounded number of connections opened to it by a thousand requests, and more of them later', async (t) => {
    const { get, connections, fallSilent, providers } = await startServer(t, {});
    fallSilent();
    const send = (count: number) => Array.from({ length: count }, () => get().catch(() => undefined));
    const started = performance.now();
    const all: Promise<unknown>[] = send(1_000);
    await until(t, () => connections() > 0);
    await pause(1_050);
    const before = connections();
    all.push(...send(1_000));
    await until(t, () => connections() > before);
    await providers.close();
    await Promise.all(all);
    // Then one dial a second shows whether the server is back.
    const seconds = Math.floor((performance.now() - started) / 1_000);
    assert.ok(connections() <= 10 + seconds, `${connections()} connections in ${seconds} s`);
  });

  test('has no time limit for a long-running request, and one for the beginning and each piece of any other answer', async (t) => {
    const answers: (() => void)[] = [];
    const answer = (
      { url }: { url?: string | undefined },
      response: { write(text: string): unknown; end(): unknown },
    ) => {
      if (url === '/begun') response.write('{}');
      answers.push(() => response.end());
    };
    for (const server of [createSecureServer(tlsOptions, answer), createTlsServer(tlsOptions, answer)]) {
      const { port } = await listen(t, server);
      const { pool, url } = startPool(t, port, { responseTimeoutMs: 500 });
      const long = ['/', '/begun'].map((path) => sendThrough(pool, url, path, {}, true));
      await until(t, () => answers.length === 2);
      for (const path of ['/', '/begun'])
        assert.match(String(await sendThrough(pool, url, path)), path === '/' ? /headers timeout/i : /timeout/i);
      for (const end of answers.splice(0)) end();
      assert.deepEqual(await Promise.all(long), [200, 200]);
    }
  });
});
