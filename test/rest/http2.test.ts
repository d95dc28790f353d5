import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { describe, test } from 'node:test';
import { request } from 'undici';
import { watchForSilence } from '../../src/rest/transport/watchdog.ts';
import { createH2Server, startConfigAt } from '../fixtures/config-at.ts';
import { newNamespace, startFleet } from '../fixtures/fleet.ts';
import { until } from '../fixtures/until.ts';

describe('one HTTP/2 connection for many', () => {
  test("survives one caller's bad headers", async (t) => {
    const { cluster, config } = await startFleet(t);
    const send = (headers: Record<string, string | string[]>) =>
      request(`${cluster.url}/version`, { dispatcher: config.dispatcher, headers });
    const watch = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: config.dispatcher });
    for (const headers of [
      { te: 'gzip' },
      { 'proxy-connection': 'keep-alive' },
      { connection: 'close' },
      { 'Keep-Alive': 'timeout=5' },
      { 'Content-Type': 'a/b', 'content-type': 'c/d' },
      { 'user-agent': ['a', 'b'] },
      { host: 'elsewhere' },
    ] as Record<string, string | string[]>[]) {
      const { statusCode, body } = await send(headers);
      await body.dump();
      assert.equal(statusCode, 200, JSON.stringify(headers));
    }
    await assert.rejects(send({ 'x-bad': 'line\nbreak' }), { code: 'REQUEST_INVALID' });
    cluster.add(newNamespace('still-there'));
    for await (const chunk of watch.body) if (String(chunk).includes('still-there')) break;
    assert.equal(cluster.stats.connections, 1);
  });
});

describe('a server that speaks HTTP/2 alone', () => {
  test('is asked for HTTP/1.1 once, however many short requests there are', async (t) => {
    let refused = 0;
    const server = createH2Server((stream) => {
      stream.respond({ ':status': 200 });
      stream.end('{}');
    });
    server.on('tlsClientError', () => {
      refused += 1;
    });
    const { dispatcher, providers, url } = await startConfigAt(t, server);
    const send = async () => (await request(url, { dispatcher })).body.dump();
    for (let i = 0; i < 150; i++) await Promise.all([send(), send()]);
    assert.equal(refused, 1);
    await providers.close();
  });
});

describe('a peer that has stopped', () => {
  test('is noticed, and one that only has nothing to say is left alone', async (t) => {
    const child = fork(new URL('../bench/cluster-process.ts', import.meta.url), { execArgv: [] });
    t.after(() => child.kill('SIGKILL'));
    const [{ url, certificateAuthorityData }] = await once(child, 'message');
    const session = connect(url, { ca: Buffer.from(certificateAuthorityData, 'base64') });
    session.on('error', () => {});
    await once(session, 'connect');
    const { socket } = session;
    assert.ok(socket);
    let answers = 0;
    const ping = () => !session.destroyed && session.ping(() => (answers += 1));
    watchForSilence(socket, { pingIntervalMs: 200, silenceMs: 600 }, ping);
    // Many looks, and the answers to the pings are all that comes.
    await until(t, () => answers === 3);
    assert.ok(!session.destroyed);
    const closed = new Promise((resolve) => session.once('close', resolve));
    child.kill('SIGSTOP');
    await closed;
  });
});
