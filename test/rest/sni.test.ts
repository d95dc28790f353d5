// An allowed router that passes TLS on by the server name in it, and a profile that names another one behind it.
import assert from 'node:assert/strict';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { ProfileError, type Provider } from '../../src/index.ts';
import { createCertificateAuthority } from '../../src/testing/index.ts';
import { profileFor, startCluster, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { startTlsServer } from '../fixtures/tls-server.ts';

const theirName = 'attacker.example.dev';

/** The server name in the first bytes of a connection (RFC 6066), `undefined` where there is none. */
function serverNameOf(hello: Buffer): string | undefined {
  // Record and handshake headers, version and random, then three lists that are passed over.
  let at = 5 + 4 + 2 + 32;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  const end = at + 2 + hello.readUInt16BE(at);
  for (at += 2; at < end; at += 4 + hello.readUInt16BE(at + 2)) {
    if (hello.readUInt16BE(at) !== 0) continue;
    return hello.toString('ascii', at + 9, at + 9 + hello.readUInt16BE(at + 7));
  }
  return undefined;
}

/** Ends no TLS itself: by the name it chooses between a cluster and somebody else's server. */
async function startRouter(t: TestContext) {
  const cluster = await startCluster(t);
  const authority = createCertificateAuthority('attacker');
  const theirs = await startTlsServer(t, authority.issue({ commonName: 'x', dnsNames: [theirName] }));
  const sockets = new Set<Socket>();
  const router = createServer((socket) => {
    socket.once('data', (hello) => {
      const isTheirs = serverNameOf(hello) === theirName;
      const upstream = connect(Number(new URL(isTheirs ? theirs.url : cluster.url).port), '127.0.0.1');
      for (const one of [socket, upstream]) sockets.add(one.on('error', () => {}));
      upstream.write(hello);
      socket.pipe(upstream).pipe(socket);
    });
  });
  await new Promise<void>((resolve) => router.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    router.close();
  });
  const { port } = router.address() as AddressInfo; // it listens on a port
  const server = `https://127.0.0.1:${port}`;
  const plugin = await startPlugin(t);
  const list = async (rules: Partial<Provider>, more: object = {}) => {
    const config = startProviders(t, plugin, {}, rules).getConfig(profileFor(cluster, { server, ...more }));
    await config.makeApiClient(CoreV1Api).listNamespace();
  };
  const attack = {
    'tls-server-name': theirName,
    'certificate-authority-data': Buffer.from(authority.certificate).toString('base64'),
  };
  return { theirs, server, list, attack };
}

describe('behind a router that goes by the server name, a profile', () => {
  test('reaches the cluster of an allowed server', async (t) => {
    const { theirs, server, list } = await startRouter(t);
    await list({ allowedServers: [server] });
    assert.deepEqual(theirs.seen, []);
  });

  test('sends a credential nowhere else', async (t) => {
    const { theirs, server, list, attack } = await startRouter(t);
    await assert.rejects(
      list({ allowedServers: [server] }, attack),
      (error) =>
        error instanceof ProfileError && error.code === 'SERVER_NOT_ALLOWED' && /tls-server-name/.test(error.path),
    );
    assert.deepEqual(theirs.seen, []);
    // What the rule is for: without it the token arrives. The other server knows it, and answers with no JSON instead of 401.
    await assert.rejects(list({}, attack), /No Content-Type/);
    assert.deepEqual(theirs.seen, ['/api/v1/namespaces']);
  });
});
