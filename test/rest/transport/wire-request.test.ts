import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readHeaders } from '../../../src/rest/transport/wire-request.ts';

const leftOut = [
  'Connection',
  'Keep-Alive',
  'Proxy-Connection',
  'Transfer-Encoding',
  'Upgrade',
  'HTTP2-Settings',
  'Host',
];

test('headers that belong to a single hop are left out, and TE unless it is trailers', () => {
  const headers = Object.fromEntries([...leftOut.map((name) => [name, 'x']), ['X-Mine', 'y'], ['TE', 'gzip']]);
  assert.deepEqual({ ...readHeaders(headers) }, { 'x-mine': 'y' });
  assert.deepEqual({ ...readHeaders({ te: 'trailers' }) }, { te: 'trailers' });
});

test('docs/differences.md names each of them', () => {
  const page = readFileSync(new URL('../../../docs/differences.md', import.meta.url), 'utf8').replace(/\s+/g, ' ');
  const [, sentence = ''] = /headers that would end a shared connection are removed \(([^)]*)\)/i.exec(page) ?? [];
  for (const name of leftOut) assert.ok(sentence.includes(`\`${name}\``), name);
  assert.match(sentence, /a `TE` other than `trailers`/);
});
