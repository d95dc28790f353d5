// A streaming list comes compressed, as Kubernetes 1.37 sends it: each flush ends a gzip member.
import assert from 'node:assert/strict';
import type { Http2ServerResponse } from 'node:http2';
import { describe, type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type ConfigMapServer, lastBookmark, line } from '../../fixtures/config-map-server.ts';
import { startHttpProxy } from '../../fixtures/proxies.ts';
import { after, map, startReflector } from '../../fixtures/reflected.ts';

const added = (name: string, version: number) =>
  line('ADDED', { metadata: { name, resourceVersion: String(version) } });
const end = lastBookmark('103');
const member = (text: string) => gzipSync(text, { level: 1 });
const isWatch = (initial: boolean) => (request: { readonly query: URLSearchParams }) =>
  request.query.has('watch') && request.query.has('sendInitialEvents') === initial;

/** A reflector whose first streaming list is compressed, and written by the test. */
async function startPacked(t: TestContext) {
  const reflected = await startReflector(t);
  const begun = Promise.withResolvers<Http2ServerResponse>();
  reflected.server.answerOnce(isWatch(true), (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    begun.resolve(response);
  });
  const next = reflected.next();
  return { ...reflected, begins: next, response: await begun.promise };
}

describe('a compressed streaming list', () => {
  test('is delivered member by member, and followed by a watch from its end that is not compressed', async (t) => {
    const { server, response, begins, next, take, restarts } = await startPacked(t);
    response.write(member(added('a', 101)));
    assert.equal(await begins, 'Init');
    assert.equal(await next(), 'InitApply a');
    response.write(member(added('b', 102)));
    assert.equal(await next(), 'InitApply b');
    // What comes with the end comes again in the watch.
    response.write(member(`${end}${added('c', 104)}`));
    assert.equal(await next(), 'InitDone');
    const changes = take(2);
    const watch = await server.seen(isWatch(false));
    assert.equal(watch.query.get('resourceVersion'), '103');
    server.apply(map('c'));
    server.apply(map('d'));
    assert.deepEqual(await changes, ['Apply c', 'Apply d']);
    assert.equal(server.watches, 1);
    assert.deepEqual(restarts, []);
  });

  test('may come in pieces of any size', async (t) => {
    const { response, begins, take } = await startPacked(t);
    const bytes = Buffer.concat([added('a', 101), added('b', 102), end].map(member));
    for (let at = 0, size = 1; at < bytes.length; at += size, size = (size % 7) + 1) {
      response.write(bytes.subarray(at, at + size));
      await new Promise(setImmediate);
    }
    assert.equal(await begins, 'Init');
    assert.deepEqual(await take(3), ['InitApply a', 'InitApply b', 'InitDone']);
  });

  const first = member(added('a', 101));
  const broken = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 7, 7]);
  const huge = Array<Buffer>(20).fill(member('x'.repeat(10 * 1024 * 1024)));
  const badly = /^watch \/api\/v1\/configmaps: the answer: it cannot be unpacked \(gzip\): /;
  const notAtAll = /^watch .*: the answer: it cannot be unpacked \(gzip\): incorrect header check$/;
  const tooLarge = /^watch .*: the answer: one of its objects is larger than 10 MiB/;
  const early = /^the server ended the streaming list before its end$/;
  for (const [what, body, said, reason] of [
    ['has a broken member', [first, broken], badly, 'malformed'],
    ['is not packed as it says', [Buffer.from(added('a', 101))], notAtAll, 'malformed'],
    ['would fill the memory', huge, tooLarge, 'malformed'],
    ['ends within a member', [first, member(end).subarray(0, 30)], early, 'closed'],
    ['is empty', [], early, 'closed'],
  ] as const) {
    test(`that ${what} is said, and another list begins`, async (t) => {
      const { server, response, begins, next, clock, restarts } = await startPacked(t);
      server.apply(map('listed'));
      response.end(Buffer.concat(body));
      const untilListed = (async () => {
        await begins;
        for (let event = await next(); event !== 'InitApply listed'; event = await next());
      })();
      await after(clock, untilListed);
      assert.match(restarts[0]?.error.message ?? '', said);
      assert.equal(restarts[0]?.reason, reason);
    });
  }

  test('that stops within a member is given up after 30 s', async (t) => {
    const { response, begins, clock, next, restarts } = await startPacked(t);
    response.write(member(added('a', 101)));
    response.write(member(end).subarray(0, 30));
    assert.equal(await begins, 'Init');
    assert.equal(await next(), 'InitApply a');
    const listed = next();
    clock.advance(await clock.waiting((ms) => ms === 30_000));
    assert.equal(await after(clock, listed), 'Init');
    assert.equal(restarts[0]?.reason, 'timeout');
  });

  test('may be plain, whatever was asked for', async (t) => {
    const { server, take } = await startReflector(t, {}, await elsewhere(t));
    const answer = `${added('a', 101)}${end}${added('b', 104)}`;
    server.answerOnce(isWatch(true), (response) => response.write(answer));
    assert.deepEqual(await take(4), ['Init', 'InitApply a', 'InitDone', 'Apply b']);
    assert.equal((await server.seen(isWatch(true))).encoding, 'gzip');
  });
});

/** The server by a name that is not loopback's. */
async function elsewhere(t: TestContext, more: object = {}): Promise<(server: ConfigMapServer) => object> {
  const proxy = await startHttpProxy(t);
  return ({ url }) => ({ server: url.replace('127.0.0.1', 'api.example'), 'proxy-url': proxy.url, ...more });
}

describe('compression', () => {
  for (const streamingList of [true, false]) {
    const what = streamingList ? 'a streaming list' : 'a page';
    const isList = ({ query }: { readonly query: URLSearchParams }) =>
      query.has(streamingList ? 'sendInitialEvents' : 'limit');

    test(`is asked for with ${what}, and not with the watch after it`, async (t) => {
      const { server, take, next } = await startReflector(t, {}, await elsewhere(t));
      server.streamingList = streamingList;
      server.apply(map('a'));
      assert.deepEqual(await take(3), ['Init', 'InitApply a', 'InitDone']);
      const change = next();
      assert.equal((await server.seen(isList)).encoding, 'gzip');
      assert.equal((await server.seen(isWatch(false))).encoding, undefined);
      server.apply(map('b'));
      assert.equal(await change, 'Apply b');
    });

    test(`of ${what} is refused with disable-compression, and not asked for from this machine`, async (t) => {
      for (const [cluster, encoding] of [
        [await elsewhere(t, { 'disable-compression': true }), 'identity'],
        [() => ({}), undefined],
        [
          ({ url }: ConfigMapServer) => ({
            server: url.replace('127.0.0.1', 'localhost'),
            'tls-server-name': 'api.example',
          }),
          undefined,
        ],
      ] as const) {
        const { server, take } = await startReflector(t, {}, cluster);
        server.streamingList = streamingList;
        assert.deepEqual(await take(2), ['Init', 'InitDone']);
        assert.equal((await server.seen(isList)).encoding, encoding);
      }
    });
  }
});
