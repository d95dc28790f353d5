import assert from 'node:assert/strict';
import type { Http2ServerResponse as ServerResponse } from 'node:http2';
import { describe, test } from 'node:test';
import { refuse } from '../../fixtures/config-map-server.ts';
import { after, startReflector } from '../../fixtures/reflected.ts';

const map = (name: string, more: object = {}) => ({ metadata: { name }, ...more });

describe('a list in pages', () => {
  test('is asked for 500 at a time, and is taken compressed', async (t) => {
    const { server, take } = await startReflector(t);
    server.streamingList = false;
    for (let i = 0; i < 1_203; i++) server.apply(map(`m-${i}`));
    const events = await take(1_205);
    assert.equal(events.at(-1), 'InitDone');
    assert.equal(new Set(events).size, 1_205);
    assert.deepEqual(
      server.lists().map(({ query }) => `${query.get('limit')} ${query.get('continue')}`),
      ['500 null', '500 500', '500 1000'],
    );
  });

  test('begins again with larger pages when the server has forgotten it', async (t) => {
    const { server, take } = await startReflector(t);
    server.streamingList = false;
    for (let i = 0; i < 700; i++) server.apply(map(`m-${i}`));
    server.misbehave = ({ query }, response) => {
      if (!query.has('continue') || query.get('limit') !== '500') return false;
      refuse(response, 410, 'Expired', 'The provided continue parameter is too old');
      return true;
    };
    const events = await take(501 + 702);
    assert.equal(events[501], 'Init');
    assert.equal(events.at(-1), 'InitDone');
    assert.deepEqual(
      server.lists().map(({ query }) => query.get('limit')),
      ['500', '500', '2000'],
    );
  });

  test('that breaks off, or is none, is asked for again', async (t) => {
    const { server, take, clock, restarts } = await startReflector(t);
    server.streamingList = false;
    const bodies = [
      '{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a"}},{"met',
      '{"kind":"Status"}',
      '<html>',
      '{"items":[{"kind":"x"}]}',
    ];
    server.misbehave = ({ path, query }, response) => {
      const body = path.endsWith('/configmaps') && !query.has('watch') ? bodies.shift() : undefined;
      if (body === undefined) return false;
      response.end(body);
      return true;
    };
    const events = take(4);
    for (let i = 1; i <= 4; i++)
      clock.advance(await clock.waiting((ms) => ms >= 800 && ms <= 30_000 && restarts.length === i));
    assert.deepEqual((await events).slice(0, 3), ['Init', 'InitApply a', 'Init']);
    assert.deepEqual(
      restarts.map(({ reason }) => reason),
      Array(4).fill('malformed'),
    );
    assert.match(
      restarts[0]?.error.message ?? '',
      /^GET \/api\/v1\/configmaps: the answer: it breaks off in the middle$/,
    );
  });

  test('that stops in the middle is given up after a minute', async (t) => {
    const { server, take, clock, restarts } = await startReflector(t);
    server.streamingList = false;
    let stopped = false;
    server.misbehave = ({ path, query }, response) => {
      if (stopped || !path.endsWith('/configmaps') || query.has('watch')) return false;
      stopped = true;
      response.write('{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a"}},{"met');
      return true;
    };
    assert.deepEqual(await take(2), ['Init', 'InitApply a']);
    const events = take(2);
    await clock.waiting((ms) => ms === 60_000);
    clock.advance(60_000);
    assert.deepEqual(await after(clock, events), ['Init', 'InitDone']);
    assert.equal(restarts[0]?.reason, 'timeout');
  });
});

describe('a streaming list', () => {
  test('that stops before its end gives way to pages', async (t) => {
    const { server, take, clock } = await startReflector(t);
    server.apply(map('a'));
    server.misbehave = ({ query }, response) => {
      if (!query.has('sendInitialEvents')) return false;
      response.writeHead(200);
      response.write(
        `${JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'a', resourceVersion: '101' } } })}\n`,
      );
      return true;
    };
    assert.deepEqual(await take(2), ['Init', 'InitApply a']);
    const events = take(3);
    await clock.waiting((ms) => ms === 30_000);
    clock.advance(30_000);
    assert.deepEqual(await after(clock, events), ['Init', 'InitApply a', 'InitDone']);
    assert.equal(server.lists().length, 1);
  });
});

for (const [what, end] of [
  ['is ended', (response: ServerResponse) => response.end()],
  ['is broken off', (response: ServerResponse) => response.destroy()],
] as const) {
  test(`a streaming list that ${what} before its end gives way to pages`, async (t) => {
    const { server, take, next, clock } = await startReflector(t);
    server.apply(map('a'));
    // It knows no streaming lists, and takes the request for a watch; a proxy ends that after a while.
    server.misbehave = ({ query }, response) => {
      if (!query.has('sendInitialEvents')) return false;
      response.writeHead(200);
      const object = { metadata: { name: 'a', resourceVersion: '101' } };
      response.write(`${JSON.stringify({ type: 'ADDED', object })}\n`, () => end(response));
      return true;
    };
    assert.equal(await next(), 'Init');
    assert.equal(await next(), 'InitApply a');
    assert.equal(await after(clock, next()), 'Init');
    assert.deepEqual(await take(2), ['InitApply a', 'InitDone']);
    assert.equal(server.lists().length, 1);
  });
}

describe('an object', () => {
  test('has its kind, its times as texts, and no managedFields', async (t) => {
    const { server, events, next } = await startReflector(t);
    server.streamingList = false;
    const creationTimestamp = '2026-01-02T03:04:05Z';
    server.apply({ metadata: { name: 'a', creationTimestamp, managedFields: [{ manager: 'x' }] }, data: { k: 'v' } });
    assert.equal(await next(), 'Init');
    const { value } = await events.next();
    assert.ok(value && 'object' in value);
    const { apiVersion, kind, metadata } = value.object;
    assert.deepEqual({ apiVersion, kind }, { apiVersion: 'v1', kind: 'ConfigMap' });
    assert.equal(metadata.creationTimestamp, creationTimestamp);
    assert.ok(!('managedFields' in metadata));
  });

  test('keeps managedFields where they are asked for', async (t) => {
    const { server, events, take } = await startReflector(t, { keepManagedFields: true });
    server.apply({ metadata: { name: 'a', managedFields: [{ manager: 'x' }] } });
    await take(1);
    const { value } = await events.next();
    assert.ok(value && 'object' in value);
    assert.deepEqual(Reflect.get(value.object.metadata, 'managedFields'), [{ manager: 'x' }]);
  });
});
