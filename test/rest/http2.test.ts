import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { request } from 'undici';
import { RestConfig } from '../../src/index.ts';
import { createH2Server, startConfigAt } from '../fixtures/config-at.ts';
import { newNamespace, startFleet } from '../fixtures/fleet.ts';
import { profileAt } from '../fixtures/raw-h2.ts';
import { statusOf } from '../fixtures/requests.ts';

test("one HTTP/2 connection for many survives one caller's bad headers", async (t) => {
  const { cluster, config } = await startFleet(t);
  const send = (headers: Record<string, string | string[]>) =>
    // A server takes no notice of the parameter here: it makes the request one for HTTP/2.
    statusOf(`${cluster.url}/version?watch=true`, { dispatcher: config.dispatcher, headers });
  const watch = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: config.dispatcher });
  for (const headers of [
    { te: 'gzip' },
    { 'proxy-connection': 'keep-alive' },
    { connection: 'close' },
    { 'Keep-Alive': 'timeout=5' },
    { 'Content-Type': 'a/b', 'content-type': 'c/d' },
    { 'user-agent': ['a', 'b'] },
    { host: 'elsewhere' },
  ] as Record<string, string | string[]>[])
    assert.equal(await send(headers), 200, JSON.stringify(headers));
  await assert.rejects(send({ 'x-bad': 'line\nbreak' }), { code: 'REQUEST_INVALID' });
  cluster.add(newNamespace('still-there'));
  for await (const chunk of watch.body) if (String(chunk).includes('still-there')) break;
  assert.equal(cluster.stats.connections, 1);
  await (await config.fetch('/version')).text();
  assert.equal(cluster.stats.connections, 2, 'a short request has one of its own');
});

/** It answers with the body that it gets. */
function startH2Alone(onRequest: (headers: IncomingHttpHeaders) => void = () => undefined) {
  let refused = 0;
  const server = createH2Server((stream, headers) => {
    onRequest(headers);
    stream.respond({ ':status': 200 });
    stream.pipe(stream);
  });
  server.on('tlsClientError', () => {
    refused += 1;
  });
  return { server, refused: () => refused };
}

describe('a server that speaks HTTP/2 alone', () => {
  test('is asked for HTTP/1.1 once, however many short requests there are', async (t) => {
    const { server, refused } = startH2Alone();
    const { config, providers, url } = await startConfigAt(t, server);
    // A fence needs HTTP/1.1 to be asked when a request is written, and does without it here.
    RestConfig.setFence(config, () => undefined);
    const send = async () => (await request(url, { dispatcher: config.dispatcher })).body.dump();
    for (let i = 0; i < 150; i++) await Promise.all([send(), send()]);
    // These take more than one connection.
    await Promise.all(Array.from({ length: 250 }, send));
    assert.equal(refused(), 1);
    await providers.close();
  });

  test('gets a body that came as a stream, though the first connection was refused', async (t) => {
    const { server, refused } = startH2Alone();
    const { dispatcher, url } = await startConfigAt(t, server);
    const body = Readable.from(['one', 'two']);
    const answer = await request(url, { dispatcher, method: 'POST', body });
    assert.deepEqual([answer.statusCode, await answer.body.text(), refused()], [200, 'onetwo', 1]);
  });

  test('never gets two groups to impersonate as one with a comma in its name', async (t) => {
    const seen: IncomingHttpHeaders[] = [];
    const { server } = startH2Alone((headers) => seen.push(headers));
    const { providers, port } = await startConfigAt(t, server);
    const as = (groups: readonly string[]) =>
      providers.getConfig(profileAt(port), { impersonate: { user: 'jane', groups } }).fetch('/x');
    await assert.rejects(as(['dev', 'ops']), { code: 'REQUEST_INVALID', message: /impersonate-group.* only HTTP\/2/i });
    await assert.rejects(as(['dev', 'ops']), { code: 'REQUEST_INVALID' });
    assert.equal((await as(['dev'])).status, 200);
    const groups = seen.map((headers) => headers['impersonate-group']);
    assert.deepEqual(groups, ['dev']);
  });
});
