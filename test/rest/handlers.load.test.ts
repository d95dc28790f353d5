import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { CoreV1Api } from '@kubernetes/client-node';
import { createCertificateAuthority } from '../../src/testing/index.ts';
import { startPlugin, startProviders } from '../fixtures/fleet.ts';

describe('an answer of a generated client', () => {
  for (const how of ['plain', 'gzip'] as const) {
    test(`that is longer than maxResponseBytes is an error, and takes no more memory (${how})`, async (t) => {
      const body = Buffer.alloc(64 * 1024 * 1024, ' ');
      const packed = gzipSync(body);
      const authority = createCertificateAuthority();
      const { certificate: cert, key } = authority.issue({ commonName: 'large', ipAddresses: ['127.0.0.1'] });
      const server = createServer({ cert, key }, (_request, response) => {
        if (how === 'gzip') response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed);
        else response.writeHead(200).end(body);
      }).listen(0, '127.0.0.1');
      t.after(() => server.closeAllConnections());
      t.after(() => server.close());
      await once(server, 'listening');
      const cluster = {
        server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, // it listens
        'certificate-authority-data': Buffer.from(authority.certificate).toString('base64'),
      };
      const profile = { metadata: { name: 'large' }, status: { accessProviders: [{ name: 'fake', cluster }] } };
      const config = startProviders(t, await startPlugin(t), { maxResponseBytes: 1024 * 1024 }).getConfig(profile);
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
