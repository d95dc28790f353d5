// Answers that are none: whose fault it is, what the error shows, and how often a request goes out for them.
import assert from 'node:assert/strict';
import { createServer as createHttpsServer } from 'node:https';
import { describe, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { CoreV1Api, makeInformer } from '@kubernetes/client-node';
import { request } from 'undici';
import { ConnectionError } from '../../src/index.ts';
import { createH2Server, startConfigAt } from '../fixtures/config-at.ts';
import { startRawH1 as startServer } from '../fixtures/raw-h1.ts';
import { tlsOptions } from '../fixtures/raw-h2.ts';
import { rejection } from '../fixtures/thrown.ts';
import { until } from '../fixtures/until.ts';

const token = 'secret-token-1234567890';
const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;
const startRawH1 = (t: TestContext, answer: Parameters<typeof startServer>[1]) => startServer(t, answer, token);

describe('an answer that cannot be read is told as such, once', () => {
  const answers: Readonly<Record<string, readonly [code: string, answer: string]>> = {
    'headers of 20 KiB': ['RESPONSE_INVALID', `${ok}x: ${'a'.repeat(20_000)}\r\ncontent-length: 2\r\n\r\n{}`],
    'a chunk size that is none': ['RESPONSE_INVALID', `${chunked}zz\r\n`],
    'a trailer of 20 KiB': ['RESPONSE_INVALID', `${chunked}0\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`],
    'another protocol': ['RESPONSE_INVALID', 'SSH-2.0-OpenSSH_9\r\n'],
    'the end before its length': ['CONNECTION_LOST', `${ok}content-length: 100\r\n\r\n0123456789`],
    'an upgrade that nobody asked for': ['CONNECTION_LOST', 'HTTP/1.1 101 x\r\nupgrade: x\r\n\r\n'],
    nothing: ['CONNECTION_LOST', ''],
  };
  for (const [what, [code, answer]] of Object.entries(answers)) {
    test(what, async (t) => {
      const { config, url, requests } = await startRawH1(t, (_request, socket) => socket.end(answer));
      // A GET whose connection was lost would be sent again.
      const sent = request(url, { dispatcher: config.dispatcher, method: 'POST', body: '{}' });
      const read = sent.then(({ body }) => body.text());
      const name = code === 'RESPONSE_INVALID' ? 'RequestError' : 'ConnectionError';
      await assert.rejects(read, { name, code, message: /^ClusterProfile fleet\/raw, https:/ });
      assert.equal(requests(), 1, 'a connection that has never answered is no idle one that was closed');
    });
  }

  test('a wrong length on HTTP/2', async (t) => {
    const server = createH2Server((stream) => {
      stream.respond({ ':status': 200, 'content-length': 100 });
      stream.end('{}');
    });
    const { dispatcher, url } = await startConfigAt(t, server);
    const read = request(url, { dispatcher }).then(({ body }) => body.text());
    await assert.rejects(read, { code: 'RESPONSE_INVALID' });
  });

  test('without what it says: it may have said the token back', async (t) => {
    const { config, url } = await startRawH1(t, (text, socket) => socket.end(`${text.repeat(2)}\r\n`));
    const { dispatcher } = config;
    const core = config.makeApiClient(CoreV1Api);
    for (const send of [() => request(url, { dispatcher }), () => core.createNamespace({ body: {} })]) {
      const error = await rejection(send());
      assert.equal(Reflect.get(Object(error), 'code'), 'RESPONSE_INVALID');
      assert.ok(!inspect(error, { depth: 8, showHidden: true }).includes(token));
    }
  });
});

test('an informer goes on after a watch that ends with what cannot be read', async (t) => {
  let watches = 0;
  const server = createHttpsServer(tlsOptions, ({ url = '', socket }, response) => {
    response.setHeader('content-type', 'application/json');
    if (!url.includes('watch=')) {
      response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: [] }));
      return;
    }
    watches += 1;
    response.write('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"2"}}}\n', () => {
      if (watches === 1) socket.write('zz this is no chunk\r\n');
    });
  });
  const { config } = await startConfigAt(t, server);
  const core = config.makeApiClient(CoreV1Api);
  const errors: unknown[] = [];
  const informer = makeInformer(config, '/api/v1/namespaces', () => core.listNamespace());
  informer.on('error', (error) => errors.push(error));
  t.after(() => informer.stop());
  await informer.start();
  await until(t, () => watches > 1 || errors.length > 0);
  assert.deepEqual(errors, []);
});

describe('a generated client', () => {
  const json = (body: string) => `${ok}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

  for (const [what, answer, expected] of [
    [
      'the page of a login',
      `${ok}content-type: text/html; charset=utf-8\r\ncontent-length: 6\r\n\r\n<html>`,
      /^ClusterProfile \S+ https:\S+ GET \/api\/v1\/namespaces was answered with an HTML page/,
    ],
    [
      'a body that is no gzip',
      `${ok}content-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}`,
      /^ClusterProfile \S+ https:\S+ the body of the response is not compressed as its header says/,
    ],
  ] as const) {
    test(`rejects with RESPONSE_INVALID for ${what}, not with an empty list`, async (t) => {
      const { config } = await startRawH1(t, (_, socket) => socket.write(answer));
      const invalid = { name: 'RequestError', code: 'RESPONSE_INVALID', message: expected };
      await assert.rejects(config.makeApiClient(CoreV1Api).listNamespace(), invalid);
    });
  }

  test("rejects with client-node's own error for a list that was cut off, not with an empty list", async (t) => {
    const { config } = await startRawH1(t, (_, socket) => socket.write(json('{"kind":"NamespaceList","items":[')));
    await assert.rejects(config.makeApiClient(CoreV1Api).listNamespace(), { name: 'SyntaxError' });
  });

  test('takes a page of HTML from a service behind the API, and JSON that is no object', async (t) => {
    let answer = `${ok}content-type: text/html\r\ncontent-length: 6\r\n\r\n<html>`;
    const { config } = await startRawH1(t, (_, socket) => socket.write(answer));
    const core = config.makeApiClient(CoreV1Api);
    const service = { name: 's', namespace: 'n' };
    assert.equal(await core.connectGetNamespacedServiceProxy(service), '<html>');
    answer = json('"text"');
    assert.equal(await core.connectGetNamespacedServiceProxy(service), 'text');
  });
});

describe('config.fetch', () => {
  test("rejects a body that breaks off with fetch's error, whose cause is ours, of a clone too", async (t) => {
    const { config } = await startRawH1(t, (_, socket) => socket.end(`${ok}content-length: 9\r\n\r\n{}`));
    for (const cloned of [false, true]) {
      const response = await config.fetch('/x');
      const error = await rejection((cloned ? response.clone() : response).text());
      assert.ok(error instanceof TypeError && error.cause instanceof ConnectionError, inspect(error));
      assert.match(error.cause.message, /^ClusterProfile fleet\/raw, https:/);
    }
  });

  test("leaves a caller's abort as it is", async (t) => {
    const { config } = await startRawH1(t, (_, socket) => socket.write(`${ok}content-length: 9\r\n\r\n{}`));
    const stop = new AbortController();
    const reading = (await config.fetch('/x', { signal: stop.signal })).text();
    const reason = new Error('enough');
    stop.abort(reason);
    await assert.rejects(reading, reason);
  });
});
