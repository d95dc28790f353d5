// 103 Early Hints, which something in between may send: what comes before an answer is none.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { type TestContext, test } from 'node:test';
import { startConfigAt } from '../fixtures/config-at.ts';
import { tlsOptions } from '../fixtures/raw-h2.ts';
import { endOfWatch, statusOf } from '../fixtures/requests.ts';

async function startHinting(t: TestContext, answer: (response: ServerResponse, count: number) => void) {
  let count = 0;
  const server = createServer(tlsOptions, (_request, response) => {
    count += 1;
    response.writeEarlyHints({ link: '</x>; rel=preload' }, () => answer(response, count));
  });
  const lines: string[] = [];
  const log = (_fields: object, message: string) => lines.push(message);
  const clock = { now: Date.now() };
  const options = { logger: { warn: log, info: log }, clock: () => clock.now };
  return { lines, ...(await startConfigAt(t, server, options)) };
}

test('hints before a 401 do not say that the server took the credential', async (t) => {
  const { plugin, lines, config } = await startHinting(t, (response) => response.writeHead(401).end());
  const { dispatcher, access } = config;
  for (let i = 0; i < 4; i++) assert.equal(await statusOf(access.cluster.server, { dispatcher }), 401);
  // The first refresh was of no use, and the next is held back.
  assert.equal(await plugin.runs(), 2);
  assert.equal(lines.length, 1, lines.join('\n'));
});

test('a watch whose connection is lost after hints is tried again', async (t) => {
  const { config } = await startHinting(t, (response, count) => {
    if (count === 1) response.socket?.destroy();
    else response.writeHead(200).end('{"type":"ADDED","object":{}}\n');
  });
  const seen: string[] = [];
  assert.equal(await endOfWatch(config, '/api/v1/pods', (phase) => seen.push(phase)), null);
  assert.deepEqual(seen, ['ADDED']);
});
