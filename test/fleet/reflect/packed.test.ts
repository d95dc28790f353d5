// A proxy in between may compress without being asked to.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { startReflector } from '../../fixtures/reflected.ts';

const event = `${JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'a', resourceVersion: '101' } } })}\n`;
const list = JSON.stringify({ metadata: { resourceVersion: '100' }, items: [] });
const status = JSON.stringify({ kind: 'Status', reason: 'InternalError', message: 'the database is away', code: 500 });

interface Packed {
  readonly streamingList: boolean;
  readonly code: number;
  readonly encoding: string;
  readonly body: string | Buffer;
  readonly said: RegExp;
}

const unasked = (what: string, encoding: string) =>
  new RegExp(
    `^${what}.* the answer: it is compressed \\(${encoding}\\), which this client did not request: check the proxies and gateways in between$`,
  );
const table: Readonly<Record<string, Packed>> = {
  'a watch': {
    streamingList: true,
    code: 200,
    encoding: 'br',
    body: brotliCompressSync(event),
    said: unasked('watch', 'br'),
  },
  'a list': {
    streamingList: false,
    code: 200,
    encoding: 'br',
    body: brotliCompressSync(list),
    said: unasked('GET', 'br'),
  },
  'a list that is not packed as it says': {
    streamingList: false,
    code: 200,
    encoding: 'gzip',
    body: list,
    said: /^GET .*: the answer: it cannot be unpacked \(gzip\): incorrect header check$/,
  },
  'a packed list that breaks off': {
    streamingList: false,
    code: 200,
    encoding: 'gzip',
    body: gzipSync(list).subarray(0, 30),
    said: /^GET .*: the answer: it cannot be unpacked \(gzip\): unexpected end of file$/,
  },
  'the refusal of a watch': {
    streamingList: true,
    code: 500,
    encoding: 'gzip',
    body: gzipSync(status),
    said: /^watch .*: status 500: the database is away$/,
  },
  'the refusal of a list': {
    streamingList: false,
    code: 500,
    encoding: 'GZIP',
    body: gzipSync(status),
    said: /^GET .*: status 500: the database is away$/,
  },
  'a refusal that cannot be unpacked': {
    streamingList: false,
    code: 500,
    encoding: 'gzip',
    body: 'not packed at all',
    said: /: status 500: its text is compressed \(gzip\) and cannot be read$/,
  },
  'a refusal that would fill the memory': {
    streamingList: false,
    code: 502,
    encoding: 'gzip',
    body: gzipSync(Buffer.alloc(8 * 1024 * 1024, 'x')),
    said: /: status 502: its text is compressed \(gzip\) and cannot be read$/,
  },
};

describe('where it is packed,', () => {
  for (const [what, { streamingList, code, encoding, body, said }] of Object.entries(table)) {
    test(`${what} is understood, or the error says so, and the reflector goes on`, async (t) => {
      const { server, take, clock, restarts } = await startReflector(t);
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
      assert.match(restarts[0]?.error.message ?? '', said);
      assert.equal(restarts[0]?.reason, code === 200 ? 'malformed' : 'server_error');
    });
  }
});
