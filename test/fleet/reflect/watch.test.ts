import assert from 'node:assert/strict';
import type { Http2ServerResponse as ServerResponse } from 'node:http2';
import { describe, test } from 'node:test';
import { line, refuse } from '../../fixtures/config-map-server.ts';
import { after, map, startReflector, startWatching } from '../../fixtures/reflected.ts';
import { until } from '../../fixtures/until.ts';

describe('a watch', () => {
  test('asks for bookmarks, ends within five to ten minutes, and goes on from a bookmark', async (t) => {
    const { server, clock, change } = await startWatching(t);
    clock.advance(20_000);
    server.bookmark();
    server.bookmark();
    server.endWatches();
    const { query } = await server.seen((request) => request.query.get('resourceVersion') === '102');
    assert.equal(query.get('allowWatchBookmarks'), 'true');
    const seconds = Number(query.get('timeoutSeconds'));
    assert.ok(seconds >= 300 && seconds <= 600, `${seconds} s`);
    server.apply(map('a'));
    assert.equal(await change, 'Apply a');
  });

  test('that the server does not end in time is ended', async (t) => {
    const { server, clock, restarts, change } = await startWatching(t);
    const ms = await clock.waiting((wait) => wait > 60_000);
    assert.ok(ms >= 329_000 && ms <= 631_000, `${ms} ms`);
    clock.advance(ms);
    server.apply(map('a'));
    assert.equal(await after(clock, change), 'Apply a');
    assert.equal(restarts[0]?.reason, 'timeout');
  });

  test('that gets bookmarks, and then nothing for 75 s, is opened again from its last version', async (t) => {
    const { server, clock, restarts, change } = await startWatching(t);
    // No bookmark has come: this server may send none.
    clock.advance(200_000);
    assert.equal(restarts.length, 0);
    server.bookmark();
    await clock.waiting((ms) => ms === 75_000);
    clock.advance(74_000);
    assert.equal(restarts.length, 0);
    const asked = server.requests.length;
    clock.advance(1_000);
    clock.advance(await clock.waiting((ms) => ms >= 800 && ms < 30_000));
    await server.seen(({ query }) => query.get('resourceVersion') === '101', asked);
    server.apply(map('a'));
    assert.equal(await change, 'Apply a');
    assert.equal(restarts[0]?.reason, 'timeout');
    assert.match(restarts[0]?.error.message ?? '', /nothing came for 75 s, not even a bookmark$/);
  });

  test('that is ended at once again and again is opened more and more seldom', async (t) => {
    const { server, watching, take, next, clock, restarts, reasons } = await startReflector(t);
    await take(2);
    const change = next();
    for (let i = 1; i <= 5; i++) {
      await watching();
      server.endWatches();
      clock.advance(await clock.waiting((ms) => ms >= 800 && ms <= 30_000 && restarts.length === i));
    }
    assert.deepEqual(reasons(), Array(5).fill('closed'));
    assert.ok((restarts[4]?.afterMs ?? 0) >= 12_800);
    server.apply(map('a'));
    assert.equal(await change, 'Apply a');
  });

  test('that is refused in an answer that never ends is given up after a minute', async (t) => {
    const { server, watching, take, next, clock, restarts } = await startReflector(t);
    await take(2);
    const busy = (response: ServerResponse) => response.writeHead(503) && response.write('busy');
    server.answerOnce(() => true, busy);
    const change = next();
    await watching();
    server.endWatches();
    clock.advance(await clock.waiting((ms) => ms >= 800 && ms <= 30_000));
    await until(t, () => {
      clock.advance(500);
      return restarts.length === 2;
    });
    server.apply(map('a'));
    assert.equal(await after(clock, change), 'Apply a');
    assert.match(restarts[1]?.error.message ?? '', /^watch .*: status 503/);
  });

  for (const [what, line] of [
    ['is no JSON', 'not json\n'],
    ['is cut off', '{"type":"ADDED","object":{\n'],
    ['has no object', '{"type":"ADDED"}\n'],
    ['is of an unknown type', '{"type":"MOVED","object":{"metadata":{"name":"a"}}}\n'],
  ] as const) {
    test(`with an event that ${what} is followed by a new list`, async (t) => {
      const { server, clock, restarts, change } = await startWatching(t);
      server.write(line);
      assert.equal(await after(clock, change), 'Init');
      assert.equal(restarts[0]?.reason, 'malformed');
    });
  }

  test('that ends with an error is followed by a new list', async (t) => {
    const { server, watching, take, next, clock, restarts } = await startReflector(t);
    await take(2);
    for (const [code, reason] of [
      [500, 'server_error'],
      [410, 'expired'],
    ] as const) {
      const change = next();
      await watching();
      clock.advance(20_000);
      server.write(line('ERROR', { kind: 'Status', code, message: 'it went wrong' }));
      assert.equal(await (code === 410 ? change : after(clock, change)), 'Init');
      assert.equal(await next(), 'InitDone');
      assert.equal(restarts.at(-1)?.reason, reason);
    }
  });

  test('from a version that the server, restored from a backup, does not have yet is followed by a new list', async (t) => {
    const { server, clock, change } = await startWatching(t);
    clock.advance(20_000);
    server.misbehave = ({ query }, response) => {
      if (!query.has('resourceVersion')) return false;
      refuse(response, 504, 'Timeout', 'Timeout: Too large resource version: 100, current: 90');
      return true;
    };
    server.endWatches();
    assert.equal(await after(clock, change), 'Init');
  });
});
