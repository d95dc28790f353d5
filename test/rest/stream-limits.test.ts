// How many requests an HTTP/2 server lets a connection carry at once (SETTINGS_MAX_CONCURRENT_STREAMS): none, few, for a while.
import assert from 'node:assert/strict';
import type { ServerHttp2Session } from 'node:http2';
import { describe, type TestContext, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { request } from 'undici';
import { CredentialsError } from '../../src/index.ts';
import { createH2Server, startConfigAt } from '../fixtures/config-at.ts';
import { until } from '../fixtures/until.ts';

/** An HTTP/2 server that answers at once, unless `hold` is set, and watches without end. `limitOf` is asked for each connection, from 1. */
async function startServer(t: TestContext, limitOf: (connection: number) => number, connectTimeoutMs = 700) {
  const sessions: ServerHttp2Session[] = [];
  const held: (() => void)[] = [];
  const control = { hold: false };
  const server = createH2Server((stream, headers) => {
    const answer = () => {
      if (stream.destroyed) return;
      stream.respond({ ':status': 200, 'content-type': 'application/json' });
      if (headers[':path']?.includes('watch')) stream.write('begins\n');
      else stream.end('{"items":[]}');
    };
    if (control.hold) held.push(answer);
    else answer();
  });
  let connections = 0;
  // Before Node's own listener, which sends the settings first of all.
  server.prependListener('secureConnection', () => {
    connections += 1;
    server.updateSettings({ maxConcurrentStreams: limitOf(connections) });
  });
  server.on('session', (session) => sessions.push(session));
  const { providers, config, url: base } = await startConfigAt(t, server, { connectTimeoutMs });
  const core = config.makeApiClient(CoreV1Api);
  const lists = (count: number) => outcomes(count, () => core.listNamespace());
  const url = new URL('/api/v1/pods', base);
  const post = (signal?: AbortSignal) =>
    request(url, { dispatcher: config.dispatcher, method: 'POST', body: '{}', ...(signal ? { signal } : {}) });
  const watch = () => request(`${url}?watch=true`, { dispatcher: config.dispatcher });
  const answerHeld = () => {
    for (const answer of held.splice(0)) answer();
  };
  const allow = (limit: number) => {
    for (const session of sessions) if (!session.destroyed) session.settings({ maxConcurrentStreams: limit });
  };
  return { sessions, control, held, lists, post, watch, allow, answerHeld, core, providers };
}

/** How requests that are sent at once end, each outcome once. */
async function outcomes(count: number, send: () => Promise<unknown>): Promise<readonly unknown[]> {
  const end = () =>
    send().then(
      () => 'an answer',
      (error: unknown) => (error instanceof CredentialsError ? Reflect.get(error, 'code') : error),
    );
  return [...new Set(await Promise.all(Array.from({ length: count }, end)))];
}

/** The client has read what the server has said so far. */
const heard = (session: ServerHttp2Session | undefined) => new Promise((resolve) => session?.ping(resolve));

describe('a server that allows no stream', () => {
  test('from the beginning: its callers fail together after the connect timeout, with what to do', async (t) => {
    const { lists, sessions, core } = await startServer(t, () => 0);
    assert.deepEqual(await lists(40), ['CONNECT_TIMEOUT']);
    assert.ok(sessions.length <= 4, `${sessions.length} connections`);
    const why = /the server accepts no requests on its connections: check .*ERR_NO_STREAM/;
    await assert.rejects(core.listNamespace(), why);
  });

  for (const when of ['before', 'while'] as const) {
    test(`later, with a watch under way that goes on (heard ${when} the requests are sent)`, async (t) => {
      const server = await startServer(t, (connection) => (connection === 1 ? 100 : 0));
      const { body } = await server.watch();
      const seen: string[] = [];
      body.on('data', (chunk) => seen.push(String(chunk))).on('error', (error) => seen.push(error.message));
      server.allow(0);
      if (when === 'before') await heard(server.sessions[0]);
      assert.deepEqual(await server.lists(10), ['CONNECT_TIMEOUT']);
      server.allow(100);
      await heard(server.sessions[0]);
      assert.deepEqual(await server.lists(10), ['an answer']);
      assert.deepEqual(seen, ['begins\n']);
      body.destroy();
    });
  }

  test('for a while: everybody waits, and is answered', async (t) => {
    const { lists, allow, sessions } = await startServer(t, () => 0, 600_000);
    const answers = lists(40);
    await until(t, () => sessions.length >= 2);
    await heard(sessions[1]);
    allow(100);
    assert.deepEqual(await answers, ['an answer']);
    assert.ok(sessions.length <= 3, `${sessions.length} connections`);
  });

  test('while another one behind the same address does: the next connection is tried at once', async (t) => {
    const { lists, sessions } = await startServer(t, (connection) => (connection === 1 ? 0 : 100), 600_000);
    assert.deepEqual(await lists(40), ['an answer']);
    assert.equal(sessions.length, 2);
  });

  for (const end of ['its signal', 'providers.close()'] as const) {
    test(`lets go of those who wait with ${end}`, async (t) => {
      const { sessions, providers, post } = await startServer(t, () => 0, 600_000);
      const given = new AbortController();
      const waiting = Array.from({ length: 5 }, () => assert.rejects(post(given.signal)));
      await until(t, () => sessions.length >= 2);
      await heard(sessions[1]);
      if (end === 'its signal') given.abort(new Error('enough'));
      else await providers.close();
      await Promise.all(waiting);
    });
  }

  test('no longer: it is found again', async (t) => {
    let limit = 0;
    const { lists } = await startServer(t, () => limit);
    assert.deepEqual(await lists(3), ['CONNECT_TIMEOUT']);
    limit = 100;
    // The connections of before stay as they are.
    assert.deepEqual(await lists(3), ['an answer']);
  });
});

describe('a server that allows few streams', () => {
  test('and is full for longer than the connect timeout fails nobody', async (t) => {
    const { lists, control, held, answerHeld } = await startServer(t, () => 2, 1_000);
    control.hold = true;
    const answers = lists(12);
    await until(t, () => held.length === 12);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    control.hold = false;
    answerHeld();
    assert.deepEqual(await answers, ['an answer']);
  });

  test('one, which a watch has: the others get connections', async (t) => {
    const { lists, watch } = await startServer(t, () => 1, 600_000);
    const { body } = await watch();
    assert.deepEqual(await lists(10), ['an answer']);
    body.on('error', () => undefined).destroy();
  });

  for (const limit of [1, 2]) {
    test(`${limit} since a watch began: whatever was sent before that was heard is answered`, async (t) => {
      const { lists, watch, allow } = await startServer(t, () => 100, 600_000);
      const watches = await Promise.all([watch(), watch()]);
      allow(limit);
      assert.deepEqual(await lists(20), ['an answer']);
      for (const { body } of watches) body.on('error', () => undefined).destroy();
    });
  }
});
