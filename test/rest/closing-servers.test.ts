// Servers that close each connection after one answer, as they say.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createServer } from 'node:tls';
import { request } from 'undici';
import { startConfigAt } from '../fixtures/config-at.ts';
import { tlsOptions } from '../fixtures/raw-h2.ts';

const answers = {
  'Connection: close': 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}',
  'a keep-alive of no time': 'HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\n{}',
  'HTTP/1.0': 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}',
  'an answer that ends with its connection': 'HTTP/1.1 200 OK\r\n\r\n{}',
};

describe('a server that answers one request on each connection', () => {
  for (const [name, answer] of Object.entries(answers))
    for (const method of ['GET', 'POST'] as const)
      test(`with ${name}: twenty times ${method} at once, each is sent once and answered`, async (t) => {
        let served = 0;
        const server = createServer(tlsOptions, (socket) => {
          socket.on('error', () => undefined);
          socket.once('data', () => {
            served += 1;
            socket.write(answer);
            // With a length it is the client that closes.
            if (!answer.includes('content-length')) socket.end();
          });
        });
        const lines: string[] = [];
        const logger = { warn: () => {}, debug: (_fields: object, message: string) => void lines.push(message) };
        const { dispatcher, url } = await startConfigAt(t, server, { logger });
        const body = method === 'POST' ? '{}' : null;
        const send = async () => (await request(url, { dispatcher, method, body })).body.text();
        const texts = await Promise.all(Array.from({ length: 20 }, send));
        assert.deepEqual(new Set(texts), new Set(['{}']));
        assert.equal(served, 20);
        assert.ok(!lines.some((line) => line.includes('is sent again')), lines.join('\n'));
      });
});
