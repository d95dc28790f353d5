import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { CoreV1Api } from '@kubernetes/client-node';
import { startConfigAt } from '../fixtures/config-at.ts';
import { tlsOptions } from '../fixtures/raw-h2.ts';

describe('an answer of a generated client', () => {
  for (const how of ['plain', 'gzip'] as const) {
    test(`that is longer than maxResponseBytes is an error, and takes no more memory (${how})`, async (t) => {
      const body = Buffer.alloc(64 * 1024 * 1024, ' ');
      const packed = gzipSync(body);
      const server = createServer(tlsOptions, (_request, response) => {
        if (how === 'gzip') response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed);
        else response.writeHead(200).end(body);
      });
      const { config } = await startConfigAt(t, server, { maxResponseBytes: 1024 * 1024 });
      const before = process.memoryUsage();
      await assert.rejects(config.makeApiClient(CoreV1Api).listNamespace(), {
        code: 'RESPONSE_TOO_LARGE',
        message: /more than 1048576 bytes, uncompressed: list it in pages/,
      });
      const after = process.memoryUsage();
      assert.ok(after.arrayBuffers - before.arrayBuffers < 32 * 1024 * 1024, 'it was not kept');
    });
  }
});
