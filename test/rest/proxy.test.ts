import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { CoreV1Api } from '@kubernetes/client-node';
import { RequestError } from '../../src/index.ts';
import { parseProxy, proxyUrlFor } from '../../src/rest/transport/proxy.ts';
import { openTunnel } from '../../src/rest/transport/tunnel.ts';
import { profileFor, startCluster, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { listen } from '../fixtures/listen.ts';
import { startHttpProxy, startSilentProxy, startSocksProxy } from '../fixtures/proxies.ts';
import { setEnvironment } from '../fixtures/script.ts';
import { rejection, thrownBy } from '../fixtures/thrown.ts';

const secret = 'SECRET-p4ssw0rd';
const spoke = 'spoke.example.dev';

/** A cluster under a name that is not exempt from proxies as loopback is. */
async function startNamedCluster(t: TestContext) {
  const cluster = await startCluster(t);
  const providers = startProviders(t, await startPlugin(t));
  const list = async (more: object) =>
    (await providers.getConfig(profileFor(cluster, more)).makeApiClient(CoreV1Api).listNamespace()).items.length;
  return { cluster, list, providers };
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

  // One of each form: test/e2e/no-proxy.ts compares all of them with Go.
  for (const [server, noProxy, expected] of [
    ['https://example.dev', '', true],
    ['https://example.dev', '*', false],
    ['https://example.dev', 'example.dev', false],
    ['https://a.example.dev', 'example.dev', false],
    ['https://example.dev', '.example.dev', true],
    ['https://a.example.dev', '.example.dev', false],
    ['https://example.dev', 'example.dev:443', false],
    ['https://example.dev', 'example.dev:6443', true],
    ['https://10.1.2.3', '10.0.0.0/8', false],
    ['https://11.1.2.3', '10.0.0.0/8', true],
    ['https://[fd00::1]', 'fd00::/8', false],
    ['https://[fd00::1]:6443', '[fd00::1]:443', true],
    ['https://[::ffff:10.1.2.3]', '10.0.0.0/8', false],
    ['https://example.dev', ':443,[],.,example.dev:x,10.0.0.0/33', true],
    ['https://a.xn--bcher-kva.example', '*.b\u00fccher.example', false],
    ['https://127.0.0.1', '', false],
    ['https://[::1]', '', false],
    ['https://localhost', '', false],
  ] as const) {
    test(`is ${expected ? 'used' : 'not used'} for ${server} where NO_PROXY is "${noProxy}"`, () => {
      assert.equal(proxied(server, noProxy), expected);
    });
  }

  test('may be socks5h, which is socks5: the proxy looks names up', () => {
    for (const text of ['socks5h://proxy.example.dev', 'SOCKS5H://proxy.example.dev:1080']) {
      assert.equal(String(parseProxy(text)), 'socks5://proxy.example.dev:1080');
    }
  });

  test('may be written without a scheme, which means http', () => {
    assert.equal(String(parseProxy('proxy.example.dev:3128')), 'http://proxy.example.dev:3128');
    const { message } = thrownBy(RequestError, () => parseProxy(`ftp://u:${secret}@p`));
    assert.ok(!message.includes(secret), message);
  });
});

const kinds = [
  ['http', startHttpProxy],
  ['socks5', startSocksProxy],
] as const;

describe('requests', () => {
  for (const [kind, start] of kinds) {
    test(`go through the profile's ${kind} proxy, on the connection of those that the environment sends there`, async (t) => {
      const { cluster, list, providers } = await startNamedCluster(t);
      const { url, targets } = await start(t);
      setEnvironment(t, { HTTPS_PROXY: url });
      const to = { server: cluster.url.replace('127.0.0.1', spoke), 'tls-server-name': 'localhost' };
      const asked = Array.from({ length: 10 }, (_, i) => list(i % 2 ? to : { ...to, 'proxy-url': url }));
      assert.deepEqual(new Set(await Promise.all(asked)), new Set([2]));
      assert.deepEqual(new Set(targets), new Set([new URL(to.server).host]));
      assert.equal(cluster.stats.connections, targets.length);
      assert.match(inspect(providers), /connections: 1,/);
    });
  }

  for (const [host, names, expected] of [
    ['127.0.0.1', { ipAddresses: ['127.0.0.1'] }, true],
    ['localhost', { dnsNames: ['localhost'] }, true],
    ['127.0.0.1', { dnsNames: [spoke, '127.0.0.1'] }, false],
    ['localhost', { dnsNames: [spoke], ipAddresses: ['127.0.0.1'] }, false],
  ] as const) {
    const what = `${expected ? 'go' : 'do not go'} through an https proxy ${host} with a certificate for ${Object.values(names).flat().join(', ')}`;
    test(`${what}, whatever the cluster's name is`, async (t) => {
      const { cluster, list } = await startNamedCluster(t);
      const certificate = cluster.certificateAuthority.issue({ commonName: 'proxy', ...names });
      const proxy = await startHttpProxy(t, { certificate, login: `user:${secret}` });
      setEnvironment(t, { HTTPS_PROXY: proxy.url.replace('127.0.0.1', host) });
      const server = cluster.url.replace('127.0.0.1', spoke);
      const listed = list({ server, 'tls-server-name': 'localhost' });
      if (expected) assert.equal(await listed, 2);
      else await assert.rejects(listed, /its certificate is refused \(ERR_TLS_CERT_ALT/);
      assert.deepEqual(proxy.targets, expected ? [new URL(server).host] : [], 'it has seen no login');
    });
  }

  for (const [kind, start] of kinds) {
    test(`go through the environment's ${kind} proxy, with its login`, async (t) => {
      const { cluster, list } = await startNamedCluster(t);
      const proxy = await start(t, { login: `user:${secret}` });
      setEnvironment(t, { HTTPS_PROXY: proxy.url });
      const server = cluster.url.replace('127.0.0.1', spoke);
      assert.equal(await list({ server, 'tls-server-name': 'localhost' }), 2);
      assert.deepEqual(proxy.targets, [new URL(server).host]);
    });
  }
});

describe('a proxy', () => {
  async function failure(promise: Promise<unknown>, code: RequestError['code']): Promise<void> {
    const error = await rejection(promise);
    assert.ok(error instanceof RequestError, inspect(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, /^proxy (http|socks5):\/\/127\.0\.0\.1:\d+: /);
    assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes(secret));
  }
  const { signal } = new AbortController();
  const tunnel = (url: string, timeoutMs = 5_000, host = '127.0.0.1') =>
    openTunnel(parseProxy(url), { server: `https://${host}:1` }, { timeoutMs, signal });

  for (const [kind, start] of kinds) {
    test(`of kind ${kind} that refuses, asks for a login, or says nothing, gives an error of its own in time`, async (t) => {
      const refusing = await start(t, { refuse: kind === 'http' ? 403 : 2 });
      await failure(tunnel(refusing.url), 'PROXY_FAILED');
      const asking = await start(t, { login: 'user:right' });
      const wrong = asking.url.replace('right', secret);
      await failure(tunnel(wrong), 'PROXY_AUTH_REQUIRED');
      const { port } = await startSilentProxy(t);
      await failure(tunnel(`${kind}://u:${secret}@127.0.0.1:${port}`, 200), 'PROXY_TIMEOUT');
      await failure(tunnel(`${kind}://u:${secret}@127.0.0.1:1`), 'PROXY_FAILED');
    });
  }

  test('of kind socks5 is not asked for what its protocol cannot say', async (t) => {
    const { url, targets } = await startSocksProxy(t);
    const long = 'x'.repeat(256);
    const message = /takes a host name of 255 bytes at most/;
    await assert.rejects(tunnel(url, 5_000, long), { code: 'PROXY_FAILED', message });
    for (const login of [`${long}:p`, `u:${secret}${long}`]) {
      await failure(tunnel(url.replace('//', `//${login}@`)), 'PROXY_FAILED');
    }
    assert.deepEqual(targets, []);
  });

  for (const [what, scheme, expected] of [
    ['speaks no HTTP', 'http', /does not answer like an HTTP proxy \(HPE_/],
    ['speaks no TLS', 'https', /TLS failed \((?:ERR_SSL|EPROTO)/],
    ['speaks no SOCKS', 'socks5', /did not connect \(SOCKS failure\)/],
    ['hangs up', 'http', /cannot be reached \(ECONNRESET\)/],
    ['hangs up', 'https', /cannot be reached \(ECONNRESET\)/],
    ['hangs up', 'socks5', /did not connect|cannot be reached/],
  ] as const) {
    test(`of kind ${scheme} that ${what} is named in the error`, async (t) => {
      const server = createServer((socket) => {
        if (what === 'hangs up') socket.end();
        else socket.end('SSH-2.0-OpenSSH_9.9\r\n');
      });
      const { port } = await listen(t, server);
      await assert.rejects(tunnel(`${scheme}://127.0.0.1:${port}`), { code: 'PROXY_FAILED', message: expected });
    });
  }

  test('that sends what the server says in the same piece as its own answer loses nothing of it', async (t) => {
    const server = createServer((socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\nhello'));
    });
    const { port } = await listen(t, server);
    const socket = await tunnel(`http://127.0.0.1:${port}`);
    t.after(() => socket.destroy());
    assert.deepEqual(await once(socket.setEncoding('latin1'), 'data'), ['hello']);
  });
});
