import assert from 'node:assert/strict';
import { createSecureServer } from 'node:http2';
import { type TestContext, test } from 'node:test';
import { createConnector } from '../../../src/rest/transport/connector.ts';
import { RequestPool } from '../../../src/rest/transport/request-pool.ts';
import { createCertificateAuthority } from '../../../src/testing/index.ts';
import { listen } from '../../fixtures/listen.ts';
import { sendThrough } from '../../fixtures/pooled-request.ts';
import { until } from '../../fixtures/until.ts';

/** Speaks HTTP/2 and HTTP/1.1, and never closes a connection by itself. */
async function startPatientServer(t: TestContext) {
  const authority = createCertificateAuthority('patient');
  const { certificate, key } = authority.issue({ commonName: 'patient', ipAddresses: ['127.0.0.1'] });
  const server = createSecureServer({ cert: certificate, key, allowHTTP1: true }, (_request, response) =>
    response.end('{}'),
  );
  // For HTTP/1.1; the library's types do not know it here.
  Object.assign(server, { keepAliveTimeout: 0 });
  const { port, open } = await listen(t, server);
  return {
    url: `https://127.0.0.1:${port}`,
    open,
    certificateAuthorityData: Buffer.from(authority.certificate).toString('base64'),
  };
}

test('the sockets for short requests are 32 at most beside the one for everything, and go when nobody has used them for a while', async (t) => {
  const { url, open, certificateAuthorityData } = await startPatientServer(t);
  const cluster = { server: url, certificateAuthorityData, insecureSkipTlsVerify: false, disableCompression: false };
  const pool = new RequestPool(url, (allowH2) => createConnector(cluster, undefined, undefined, { allowH2 }), {
    allowH2: true,
    keepAliveTimeoutMs: 500,
  });
  t.after(() => pool.destroy(new Error('the test has ended')));
  assert.equal(await sendThrough(pool, url, '/'), 200);
  assert.equal(open.size, 1);
  let most = 0;
  const caller = async () => {
    for (let i = 0; i < 8; i++) {
      assert.equal(await sendThrough(pool, url, '/'), 200);
      most = Math.max(most, open.size);
    }
  };
  await Promise.all(Array.from({ length: 60 }, caller));
  assert.ok(most > 1 && most <= 33, `${most} sockets`);
  // The one for everything is idle as well, and may go before the last of them.
  await until(t, () => open.size <= 1);
  // They come again with the load.
  await Promise.all(Array.from({ length: 60 }, caller));
  assert.ok(open.size > 1, `${open.size} sockets`);
});
