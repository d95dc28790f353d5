import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { CoreV1Api } from '@kubernetes/client-node';
import { startRawH1 } from '../fixtures/raw-h1.ts';
import { rejection } from '../fixtures/thrown.ts';

describe('a generated client', () => {
  const pod = JSON.stringify({ kind: 'Pod', apiVersion: 'v1', metadata: { name: 'a' } });
  const empty = Buffer.alloc(0);
  for (const [what, status, encoding, body, expected] of [
    ['gzip', '200 OK', 'gzip', gzipSync(pod), 'a'],
    ['gzip in capitals', '200 OK', 'GZIP', gzipSync(pod), 'a'],
    ['identity', '200 OK', 'Identity', Buffer.from(pod), 'a'],
    ['nothing', '404 Not Found', 'gzip', empty, 404],
    ['nothing', '200 OK', 'gzip', empty, 'SyntaxError'],
    ['a refusal', '404 Not Found', 'GZIP', gzipSync(JSON.stringify({ kind: 'Status', code: 404 })), 404],
  ] as const) {
    test(`takes ${what} behind "${encoding}" with a ${status} for what it is`, async (t) => {
      const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-encoding: ${encoding}\r\n`;
      const { config } = await startRawH1(t, (_, socket) => {
        socket.write(`${head}content-length: ${body.length}\r\n\r\n`);
        socket.write(body);
      });
      const read = config.makeApiClient(CoreV1Api).readNamespacedPod({ name: 'a', namespace: 'a' });
      const outcome = await read.then(
        ({ metadata }) => metadata?.name,
        (error: Error) => Reflect.get(error, 'code') ?? error.name,
      );
      assert.equal(outcome, expected);
    });
  }

  test('takes a 204 that says it is packed for one that does not', async (t) => {
    const outcomes: string[] = [];
    for (const header of ['content-encoding: gzip\r\n', '']) {
      const { config } = await startRawH1(t, (_, socket) => {
        socket.write(`HTTP/1.1 204 No Content\r\ncontent-type: application/json\r\n${header}\r\n`);
      });
      const core = config.makeApiClient(CoreV1Api);
      const error = await rejection(core.deleteNamespace({ name: 'a' }));
      outcomes.push(String(error).replace(/127\.0\.0\.1:\d+/, ''));
    }
    assert.equal(outcomes[0], outcomes[1]);
    assert.match(outcomes[0] ?? '', /JSON/);
  });
});
