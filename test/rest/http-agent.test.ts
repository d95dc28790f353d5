import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer, type RequestOptions, request } from 'node:https';
import { describe, test } from 'node:test';
import type { RestConfig } from '../../src/index.ts';
import { startCertified } from '../fixtures/certified.ts';
import { startConfigAt } from '../fixtures/config-at.ts';
import { newNamespace, startFleet, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { load } from '../fixtures/kubeconfigs.ts';
import { listen } from '../fixtures/listen.ts';
import { startHttpProxy } from '../fixtures/proxies.ts';
import { profileAt, tlsOptions } from '../fixtures/raw-h2.ts';

/** Sends a request with Node's own client. */
async function send(url: string, config: RestConfig, options: RequestOptions = {}, body?: string | Buffer) {
  const outgoing = request(url, { agent: config.agent, ...options });
  outgoing.end(body);
  const [response]: IncomingMessage[] = await once(outgoing, 'response');
  return response ?? assert.fail('no response');
}

async function textOf(response: IncomingMessage): Promise<string> {
  return Buffer.concat(await response.toArray()).toString();
}

describe('config.agent', () => {
  test('gives requests of other clients the credential, and sends them again after a 401', async (t) => {
    const { cluster, plugin, config } = await startFleet(t);
    const namespaces = `${cluster.url}/api/v1/namespaces`;
    assert.equal((await textOf(await send(namespaces, config))).includes('kube-system'), true);
    cluster.setTokens({ 'token-2': 'me' });
    await plugin.answer({ token: 'token-2' });
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(newNamespace('made'));
    assert.equal((await send(namespaces, config, { method: 'POST', headers }, body)).statusCode, 201);
    assert.equal((await send(namespaces, config, { headers: { authorization: 'Bearer own' } })).statusCode, 401);
    assert.equal(await plugin.runs(), 2);
  });

  test('gives them the client certificate of now', async (t) => {
    const { cluster, config, rotate } = await startCertified(t);
    await send(`${cluster.url}/version`, config);
    await rotate('second');
    await send(`${cluster.url}/version`, config);
    assert.deepEqual([...cluster.stats.byIdentity.keys()], ['first', 'second']);
  });

  test('sends them through the proxy, and to no other server', async (t) => {
    const server = createTlsServer(tlsOptions, (_request, response) => response.end('here'));
    const { port } = await listen(t, server);
    const proxy = await startHttpProxy(t);
    const plugin = await startPlugin(t);
    const profile = profileAt(port, { 'proxy-url': proxy.url, 'tls-server-name': '127.0.0.1' });
    const config = startProviders(t, plugin).getConfig(profile);
    assert.equal(await textOf(await send(`https://127.0.0.1:${port}/x`, config)), 'here');
    assert.deepEqual(proxy.targets, [`127.0.0.1:${port}`]);
    await assert.rejects(send(`https://localhost:${port}/x`, config), { code: 'FOREIGN_ORIGIN' });
    assert.equal(await plugin.runs(), 1);
  });

  test('hands bodies and headers on as they are', async (t) => {
    const big = 'x'.repeat(3_000_000);
    const server = createTlsServer(tlsOptions, async (incoming, response) => {
      const body = await textOf(incoming);
      response.setHeader('warning', ['299 - "a"', '299 - "b"']);
      response.writeHead(418, { 'content-length': body.length, 'x-given': incoming.rawHeaders.join() });
      response.end(incoming.method === 'HEAD' ? undefined : body);
    });
    const { config, url } = await startConfigAt(t, server);
    const headers = { accept: ['a', 'b'], 'x-more': 'c' };
    const response = await send(url, config, { method: 'PUT', headers }, big);
    assert.equal(response.statusCode, 418);
    assert.match(String(response.headers['x-given']), /accept,a, b,x-more,c|accept,a,accept,b,x-more,c/);
    assert.equal(response.headers.warning, '299 - "a", 299 - "b"');
    assert.equal(response.headers['content-length'], String(big.length));
    assert.equal(await textOf(response), big);
    assert.equal(await textOf(await send(url, config, { method: 'HEAD' })), '');
  });

  test('has the answer to an upload that the server does not read, or why there is none', async (t) => {
    const server = createTlsServer(tlsOptions, (incoming, response) => {
      incoming.on('error', () => undefined);
      if (incoming.url === '/reset') incoming.once('data', () => incoming.socket.destroy());
      else response.writeHead(413).end('too large');
    });
    const { config, url } = await startConfigAt(t, server);
    const upload = (path: string) => send(new URL(path, url).href, config, { method: 'PUT' }, Buffer.alloc(20_000_000));
    const response = await upload('/large');
    assert.equal(response.statusCode, 413);
    assert.equal(await textOf(response), 'too large');
    await assert.rejects(upload('/reset'), { code: 'CONNECTION_LOST' });
  });

  test('hands the bytes of headers on, and leaves out a Trailer', async (t) => {
    const bytes = Buffer.from('299 - "größer"').toString('latin1');
    const server = createTlsServer(tlsOptions, (_incoming, { socket }) =>
      socket?.end(`HTTP/1.1 200 OK\r\nWarning: ${bytes}\r\nTrailer: x\r\nContent-Length: 2\r\n\r\nok`, 'latin1'),
    );
    const { config, url } = await startConfigAt(t, server);
    const response = await send(url, config);
    assert.equal(response.headers.warning, bytes);
    assert.equal(await textOf(response), 'ok');
  });

  test('begins a watch before it has events, and ends it when the client goes', async (t) => {
    const ended = Promise.withResolvers<void>();
    const server = createTlsServer(tlsOptions, (_incoming, response) => {
      response.flushHeaders();
      response.once('close', () => ended.resolve());
    });
    const { config, url } = await startConfigAt(t, server);
    const response = await send(`${url}?watch=true`, config);
    assert.equal(response.statusCode, 200);
    response.destroy();
    await ended.promise;
  });

  test('ends an answer that breaks off, and fails with what a request failed with', async (t) => {
    const server = createTlsServer(tlsOptions, (incoming, response) => {
      response.write('half');
      setImmediate(() => incoming.socket.destroy());
    });
    const { config, plugin, url } = await startConfigAt(t, server);
    const response = await send(url, config);
    await assert.rejects(textOf(response));
    await plugin.answer({ exitCode: 1 });
    config.invalidate();
    await assert.rejects(send(url, config), { code: 'PLUGIN_FAILED' });
    await config.close();
    await assert.rejects(send(url, config), { code: 'CONFIG_CLOSED' });
  });

  test("keeps a client's own timeout", async (t) => {
    const server = createTlsServer(tlsOptions, (_incoming, response) => void response.write('half'));
    const { config, url } = await startConfigAt(t, server);
    const outgoing = request(url, { agent: config.agent, timeout: 50 });
    outgoing.on('error', () => undefined).end();
    await once(outgoing, 'timeout');
    outgoing.destroy();
  });

  test('is one of node:http for a server without TLS', async (t) => {
    const plain = createServer((_incoming, response) => response.end('plain'));
    const server = `http://127.0.0.1:${(await listen(t, plain)).port}`;
    const config = load(t, { cluster: { server }, exec: null });
    const outgoing = get(`${server}/x`, { agent: config.agent });
    const [response]: IncomingMessage[] = await once(outgoing, 'response');
    assert.equal(await textOf(response ?? assert.fail()), 'plain');
  });
});
