import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { CoreV1Api } from '@kubernetes/client-node';
import WebSocket, { WebSocketServer } from 'ws';
import { RequestError, type RequestErrorCode } from '../../src/index.ts';
import { parseProxy, proxyUrlFor } from '../../src/rest/proxy.ts';
import { openTunnel } from '../../src/rest/tunnel.ts';
import { createCertificateAuthority } from '../../src/testing/index.ts';
import { profileFor, startCluster, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { startHttpProxy, startSilentProxy, startSocksProxy, type TestProxy } from '../fixtures/proxies.ts';
import { until } from '../fixtures/until.ts';

const secret = 'SECRET-p4ssw0rd';

function setEnvironment(t: TestContext, variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) process.env[name] = value;
  t.after(() => {
    for (const name of Object.keys(variables)) delete process.env[name];
  });
}

/** A cluster under a name that is not exempt from proxies as loopback is. */
async function startNamedCluster(t: TestContext) {
  const cluster = await startCluster(t);
  const plugin = await startPlugin(t);
  const providers = startProviders(t, plugin);
  const list = async (more: object) =>
    (await providers.getConfig(profileFor(cluster, more)).makeApiClient(CoreV1Api).listNamespace()).items.length;
  return { cluster, plugin, providers, list };
}

describe('the proxy for a server', () => {
  const environment = (noProxy: string) => ({ HTTPS_PROXY: 'http://p:1', NO_PROXY: noProxy });
  const proxied = (server: string, noProxy: string) =>
    proxyUrlFor(new URL(server), undefined, environment(noProxy)) !== undefined;

  test("is the profile's own, whatever the environment says", () => {
    assert.equal(proxyUrlFor(new URL('https://h'), 'http://q', environment('*')), 'http://q');
  });

  test("is the environment's for the scheme, upper case before lower case", () => {
    const variables = { HTTPS_PROXY: 'a', https_proxy: 'b', http_proxy: 'c' };
    assert.equal(proxyUrlFor(new URL('https://h'), undefined, variables), 'a');
    assert.equal(proxyUrlFor(new URL('http://h'), undefined, variables), 'c');
    assert.equal(proxyUrlFor(new URL('https://h'), undefined, { http_proxy: 'c' }), undefined);
  });

  for (const [server, noProxy, expected] of [
    ['https://example.dev', '', true],
    ['https://example.dev', '*', false],
    ['https://example.dev', 'example.dev', false],
    ['https://EXAMPLE.dev', 'a, Example.DEV', false],
    ['https://a.example.dev', 'example.dev', false],
    ['https://notexample.dev', 'example.dev', true],
    ['https://example.dev', '.example.dev', true],
    ['https://a.example.dev', '.example.dev', false],
    ['https://a.example.dev', '*.example.dev', false],
    ['https://example.dev', 'example.dev:443', false],
    ['https://example.dev', 'example.dev:6443', true],
    ['https://example.dev:6443', 'example.dev:6443', false],
    ['https://10.1.2.3', '10.0.0.0/8', false],
    ['https://11.1.2.3', '10.0.0.0/8', true],
    ['https://10.1.2.3', '10.1.2.3', false],
    ['https://10.1.2.3', '10.1.2.3:443', false],
    ['https://[fd00::1]', 'fd00::/8', false],
    ['https://[fd00::1]', 'fd00::1', false],
    ['https://[fd00::1]', '[fd00::1]:443', false],
    ['https://[fd00::1]', 'FD00:0::0001', false],
    ['https://[fd00::1]:6443', '[fd00::1]:443', true],
    ['https://[fd00::1]', '[fd00::1]', false],
    ['https://[::ffff:10.1.2.3]', '10.0.0.0/8', false],
    ['https://10.1.2.3', '::ffff:a01:203', false],
    ['https://10.1.2.3', '::/0', true],
    ['https://10.1.2.3', '2.3', true],
    ['https://10.1.2.3', '.1.2.3', true],
    ['https://example.dev', 'example.dev:', false],
    ['https://example.dev', ':443,[],.,example.dev:x,10.0.0.0/33', true],
    ['https://b\u00fccher.example', 'b\u00fccher.example', false],
    ['https://a.xn--bcher-kva.example', '*.b\u00fccher.example', false],
    ['https://127.0.0.1', '', false],
    ['https://127.8.8.8', '', false],
    ['https://[::1]', '', false],
    ['https://localhost', '', false],
  ] as const) {
    test(`is ${expected ? 'used' : 'not used'} for ${server} where NO_PROXY is "${noProxy}"`, () => {
      assert.equal(proxied(server, noProxy), expected);
    });
  }

  test('may be written without a scheme, which means http', () => {
    assert.equal(String(parseProxy('proxy.example.dev:3128')), 'http://proxy.example.dev:3128');
    assert.throws(
      () => parseProxy(`ftp://u:${secret}@p`),
      (error: Error) => error instanceof RequestError && !error.message.includes(secret),
    );
  });
});

describe('requests', () => {
  const kinds = {
    http: (t: TestContext) => startHttpProxy(t),
    socks5: (t: TestContext) => startSocksProxy(t),
  };
  for (const [kind, start] of Object.entries(kinds)) {
    test(`go through the profile's ${kind} proxy, on one HTTP/2 connection`, async (t) => {
      const { cluster, list } = await startNamedCluster(t);
      const proxy: TestProxy = await start(t);
      const results = await Promise.all(Array.from({ length: 10 }, () => list({ 'proxy-url': proxy.url })));
      assert.ok(results.every((count) => count === 2));
      assert.deepEqual(proxy.targets, [new URL(cluster.url).host]);
      assert.equal(cluster.stats.connections, 1);
    });
  }

  test("go through an https proxy whose certificate is of the cluster's authority", async (t) => {
    const { cluster, list } = await startNamedCluster(t);
    const certificate = cluster.certificateAuthority.issue({ commonName: 'proxy', ipAddresses: ['127.0.0.1'] });
    const proxy = await startHttpProxy(t, { certificate });
    assert.equal(await list({ 'proxy-url': proxy.url }), 2);
    assert.equal(proxy.targets.length, 1);
  });

  for (const [kind, start] of [
    ['http', startHttpProxy],
    ['socks5', startSocksProxy],
  ] as const) {
    test(`go through the environment's ${kind} proxy, with its login`, async (t) => {
      const { cluster, list } = await startNamedCluster(t);
      const proxy = await start(t, { login: `user:${secret}` });
      setEnvironment(t, { HTTPS_PROXY: proxy.url });
      const server = cluster.url.replace('127.0.0.1', 'spoke.example.dev');
      assert.equal(await list({ server, 'tls-server-name': 'localhost' }), 2);
      assert.deepEqual(proxy.targets, [new URL(server).host]);
    });
  }
});

describe('a proxy', () => {
  async function failure(promise: Promise<unknown>, code: RequestErrorCode): Promise<void> {
    const error: unknown = await promise.then(
      () => undefined,
      (reason) => reason,
    );
    assert.ok(error instanceof RequestError, inspect(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, /^proxy (http|socks5):\/\/127\.0\.0\.1:\d+: /);
    assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes(secret));
  }
  const tunnel = (url: string, timeoutMs = 5_000) => openTunnel(parseProxy(url), '127.0.0.1', 1, { timeoutMs });

  for (const [kind, start] of [
    ['http', startHttpProxy],
    ['socks5', startSocksProxy],
  ] as const) {
    test(`of kind ${kind} that refuses, asks for a login, or says nothing, gives an error of its own in time`, async (t) => {
      const refusing = await start(t, { refuse: kind === 'http' ? 403 : 2 });
      await failure(tunnel(refusing.url), 'PROXY_FAILED');
      const asking = await start(t, { login: 'user:right' });
      const wrong = asking.url.replace('right', secret);
      await failure(tunnel(wrong), 'PROXY_AUTH_REQUIRED');
      const port = await startSilentProxy(t);
      await failure(tunnel(`${kind}://u:${secret}@127.0.0.1:${port}`, 200), 'PROXY_TIMEOUT');
      await failure(tunnel(`${kind}://u:${secret}@127.0.0.1:1`), 'PROXY_FAILED');
    });
  }

  test('that fails, fails the request with its error', async (t) => {
    const { list } = await startNamedCluster(t);
    const proxy = await startHttpProxy(t, { refuse: 403 });
    await assert.rejects(
      list({ 'proxy-url': proxy.url }),
      (error: Error) => error.cause instanceof RequestError && error.cause.code === 'PROXY_FAILED',
    );
  });
});

describe('a WebSocket', () => {
  async function startEcho(t: TestContext) {
    const authority = createCertificateAuthority();
    const { certificate: cert, key } = authority.issue({ commonName: 'ws', dnsNames: ['kubernetes'] });
    const server = createServer({ cert, key });
    let token = 'token-1';
    const sockets = new WebSocketServer({
      server,
      verifyClient: ({ req }, done) => done(req.headers.authorization === `Bearer ${token}`, 401),
    });
    sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
    t.after(() => {
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo; // a TCP server that listens has one
    const setToken = (next: string) => {
      token = next;
    };
    const certificateAuthorityData = Buffer.from(authority.certificate).toString('base64');
    return { url: `https://127.0.0.1:${port}`, certificateAuthorityData, setToken };
  }

  test('has the credential, the CA, the server name and the proxy; a 401 refreshes the credential for the next', async (t) => {
    const echo = await startEcho(t);
    const proxy = await startHttpProxy(t);
    const plugin = await startPlugin(t);
    const cluster = {
      server: echo.url,
      'certificate-authority-data': echo.certificateAuthorityData,
      'tls-server-name': 'kubernetes',
      'proxy-url': proxy.url,
    };
    const config = startProviders(t, plugin).getConfig({ status: { accessProviders: [{ name: 'fake', cluster }] } });
    const say = async (text: string) => {
      const options: WebSocket.ClientOptions = {};
      await config.applyToHTTPSOptions(options);
      const socket = new WebSocket(echo.url.replace('https', 'wss'), options);
      return new Promise<string>((resolve, reject) => {
        socket.on('error', reject).on('open', () => socket.send(text));
        socket.on('message', (data) => {
          socket.terminate();
          resolve(String(data));
        });
      });
    };
    assert.equal(await say('hello'), 'hello');
    assert.equal(proxy.targets.length, 1);
    echo.setToken('token-2');
    await plugin.answer({ token: 'token-2' });
    await assert.rejects(say('refused'), /401/);
    await until(t, async () => (await plugin.runs()) >= 2);
    assert.equal(await say('again'), 'again');
  });
});
