import assert from 'node:assert/strict';
import type { Http2ServerResponse as ServerResponse } from 'node:http2';
import { describe, test } from 'node:test';
import { isPage, lastBookmark, line } from '../../fixtures/config-map-server.ts';
import { after, map, startReflector } from '../../fixtures/reflected.ts';
import { until } from '../../fixtures/until.ts';

const untilDone = async (next: () => Promise<string>) => {
  while ((await next()) !== 'InitDone');
};

describe('a list in pages', () => {
  test('is asked for 100 objects, then for 500 at a time', async (t) => {
    const { server, take } = await startReflector(t);
    server.streamingList = false;
    for (let i = 0; i < 1_203; i++) server.apply(map(`m-${i}`));
    const events = await take(1_205);
    assert.equal(events.at(-1), 'InitDone');
    assert.equal(new Set(events).size, 1_205);
    const pages = server.lists().map(({ query }) => `${query.get('limit')} ${query.get('continue')}`);
    assert.deepEqual(pages, ['100 null', '500 100', '500 600', '500 1100']);
  });

  test('has pages of about 1 MiB where its objects are large, and a page of more than 4 MiB is asked for again', async (t) => {
    const { server, take } = await startReflector(t);
    server.streamingList = false;
    const large = { data: { text: 'x'.repeat(100_000) } };
    for (let i = 0; i < 40; i++) server.apply(map(`m-${i}`, i < 10 ? large : {}));
    for (let i = 40; i < 90; i++) server.apply(map(`m-${i}`, large));
    const events = await take(92);
    assert.equal(events.at(-1), 'InitDone');
    assert.equal(new Set(events).size, 92);
    const limits = server.lists().map(({ query }) => Number(query.get('limit')));
    assert.deepEqual(limits.slice(0, 3), [100, 10, 10]);
    assert.ok(limits[3] !== undefined && limits[3] > 100, `${limits}`);
    assert.ok((limits.at(-1) ?? 0) <= 20, `${limits}`);
  });

  test('of one object that is larger than any API server stores is malformed', async (t) => {
    const { server, next, clock, restarts } = await startReflector(t);
    server.streamingList = false;
    server.apply(map('a', { data: { text: 'x'.repeat(11 * 1024 * 1024) } }));
    const events = untilDone(next);
    const ms = await clock.waiting((wait) => wait >= 800 && wait <= 1_600);
    assert.match(restarts[0]?.error.message ?? '', /^GET .*: one of its objects is larger than 10 MiB/);
    server.delete('a');
    clock.advance(ms);
    await events;
  });

  test('that breaks off, or is none, is asked for again', async (t) => {
    const { server, take, clock, restarts, reasons } = await startReflector(t);
    server.streamingList = false;
    const bodies = [
      '{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a"}},{"met',
      '{"kind":"Status"}',
      '<html>',
      '{"items":[{"kind":"x"}]}',
      '{"metadata":{"resourceVersion":"1"},"items":"none"}',
    ];
    server.misbehave = (request, response) => {
      const body = isPage(request) ? bodies.shift() : undefined;
      if (body === undefined) return false;
      response.end(body);
      return true;
    };
    const events = take(2);
    for (let i = 1; i <= 5; i++)
      clock.advance(await clock.waiting((ms) => ms >= 800 && ms <= 30_000 && restarts.length === i));
    assert.deepEqual(await events, ['Init', 'InitDone']);
    assert.deepEqual(reasons(), Array(5).fill('malformed'));
    const message = 'GET /api/v1/configmaps: the answer: it is not JSON, or breaks off';
    assert.equal(restarts[0]?.error.message, message);
  });

  const page = (next: string, items: readonly object[]) =>
    JSON.stringify({ metadata: { resourceVersion: '1', continue: next }, items });

  test('may have some pages without objects, and an object twice', async (t) => {
    const { server, next, restarts } = await startReflector(t);
    server.streamingList = false;
    server.misbehave = (request, response) => {
      if (!isPage(request)) return false;
      const n = Number(request.query.get('continue'));
      response.end(page(n === 300 ? '' : `${n + 1}`, n % 90 === 89 ? [map(`m-${n}`), map('twice')] : []));
      return true;
    };
    await untilDone(next);
    assert.deepEqual(restarts, []);
  });

  for (const [streamingList, what] of [
    [true, 'a bookmark'],
    [false, 'a list'],
  ] as const) {
    test(`with an empty version is malformed: ${what}`, async (t) => {
      const { server, next, clock, reasons } = await startReflector(t);
      server.streamingList = streamingList;
      const list = JSON.stringify({ metadata: { resourceVersion: '' }, items: [] });
      server.answerOnce(
        ({ path, query }) => path.endsWith('/configmaps') && query.has('watch') === streamingList,
        (response) => response.end(streamingList ? lastBookmark('') : list),
      );
      const events = untilDone(next);
      clock.advance(await clock.waiting((ms) => ms >= 800 && ms <= 1_600));
      await events;
      assert.deepEqual(reasons(), ['malformed']);
      const change = next();
      await server.watched();
      server.apply(map('later'));
      assert.equal(await change, 'Apply later');
      assert.ok(server.requests.every(({ query }) => query.get('resourceVersion') !== ''));
    });
  }

  test('that stops in the middle is given up after a minute', async (t) => {
    const { server, take, clock, restarts } = await startReflector(t);
    server.streamingList = false;
    const half = '{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a"}},{"met';
    server.answerOnce(isPage, (response) => response.write(half));
    const events = take(2);
    await server.seen(({ query }) => query.has('limit'));
    await until(t, () => clock.waits.filter((ms) => ms === 60_000).length === 2);
    clock.advance(60_000);
    assert.deepEqual(await after(clock, events), ['Init', 'InitDone']);
    assert.equal(restarts[0]?.reason, 'timeout');
  });
});

for (const [what, end] of [
  ['stops', undefined],
  ['is ended', (response: ServerResponse) => response.end()],
  ['is broken off', (response: ServerResponse) => response.destroy()],
] as const) {
  test(`a streaming list that ${what} before its end gives way to pages`, async (t) => {
    const { server, take, clock } = await startReflector(t);
    server.apply(map('a'));
    // It knows no streaming lists, and takes the request for a watch; a proxy ends that after a while.
    server.misbehave = ({ query }, response) => {
      if (!query.has('sendInitialEvents')) return false;
      response.writeHead(200);
      response.write(line('ADDED', { metadata: { name: 'a', resourceVersion: '101' } }), () => end?.(response));
      return true;
    };
    assert.deepEqual(await take(2), ['Init', 'InitApply a']);
    const events = take(3);
    if (!end) clock.advance(await clock.waiting((ms) => ms === 30_000));
    assert.deepEqual(await after(clock, events), ['Init', 'InitApply a', 'InitDone']);
    assert.equal(server.lists().length, 1);
  });
}

test('an object has its kind, its times as texts, and no managedFields', async (t) => {
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
