// A proxy in between may compress without being asked to.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { line } from '../../fixtures/config-map-server.ts';
import { startReflector } from '../../fixtures/reflected.ts';

const event = line('ADDED', { metadata: { name: 'a', resourceVersion: '101' } });
const list = JSON.stringify({ metadata: { resourceVersion: '100' }, items: [] });
const status = JSON.stringify({ kind: 'Status', reason: 'InternalError', message: 'the database is away', code: 500 });

const unasked =
  /^(?:watch|GET) .* the answer: it is compressed \(br\), which this client did not request: check the proxies and gateways in between$/;
const wrong = /^GET .*: the answer: it cannot be unpacked \(gzip\): incorrect header check$/;
const half = /^GET .*: the answer: it cannot be unpacked \(gzip\): unexpected end of file$/;
const read = /^(?:watch|GET) .*: status 500: the database is away$/;
const unread = /: status 50[02]: its text is compressed \(gzip\) and cannot be read$/;
const huge = gzipSync(Buffer.alloc(8 * 1024 * 1024, 'x'));

describe('where it is packed,', () => {
  for (const [what, request, code, encoding, body, said] of [
    ['a watch', 'watch', 200, 'br', brotliCompressSync(event), unasked],
    ['a list', 'GET', 200, 'br', brotliCompressSync(list), unasked],
    ['a list that is not packed as it says', 'GET', 200, 'gzip', list, wrong],
    ['a packed list that breaks off', 'GET', 200, 'gzip', gzipSync(list).subarray(0, 30), half],
    ['the refusal of a watch', 'watch', 500, 'gzip', gzipSync(status), read],
    ['the refusal of a list', 'GET', 500, 'GZIP', gzipSync(status), read],
    ['a refusal that cannot be unpacked', 'GET', 500, 'gzip', 'not packed at all', unread],
    ['a refusal that would fill the memory', 'GET', 502, 'gzip', huge, unread],
  ] as const) {
    test(`${what} is understood, or the error says so, and the reflector goes on`, async (t) => {
      const { server, take, clock, restarts } = await startReflector(t);
      const streamingList = request === 'watch';
      server.streamingList = streamingList;
      server.misbehave = ({ path, query }, response) => {
        if (restarts.length > 0 || !path.endsWith('/configmaps') || query.has('watch') !== streamingList) return false;
        response.writeHead(code, { 'content-type': 'application/json', 'content-encoding': encoding });
        response.end(body);
        return true;
      };
      const events = take(2);
      clock.advance(await clock.waiting((ms) => ms >= 800 && ms < 30_000));
      assert.deepEqual(await events, ['Init', 'InitDone']);
      const { message = '' } = restarts[0]?.error ?? {};
      assert.match(message, said);
      assert.ok(message.startsWith(`${request} `) && (code === 200 || message.includes(`status ${code}`)), message);
      assert.equal(restarts[0]?.reason, code === 200 ? 'malformed' : 'server_error');
    });
  }
});
