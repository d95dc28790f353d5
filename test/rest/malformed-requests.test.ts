import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, type TestContext, test } from 'node:test';
import { type Dispatcher, request } from 'undici';
import { CredentialsError } from '../../src/index.ts';
import { startFleet } from '../fixtures/fleet.ts';

type Fleet = Awaited<ReturnType<typeof startFleet>>;
type Malformed = Readonly<Record<string, unknown>>;

/** Whatever a caller may get wrong. Made anew for each request: bodies are used up. */
const malformed: Readonly<Record<string, () => Malformed>> = {
  'a header value with a line break': () => ({ headers: { 'x-bad': 'a\r\nb' } }),
  'a header value with NUL': () => ({ headers: { 'x-bad': 'a\0b' } }),
  'a header name with a space': () => ({ headers: { 'x bad': 'a' } }),
  'an empty header name': () => ({ headers: { '': 'a' } }),
  'a header value that is an object': () => ({ headers: { 'x-bad': { a: 1 } } }),
  'headers that are a number': () => ({ headers: 5 }),
  'an odd list of headers': () => ({ headers: ['a', 'b', 'c'] }),
  'expect: 100-continue': () => ({ headers: { expect: '100-continue' } }),
  'a pseudo-header': () => ({ headers: { ':path': '/elsewhere' } }),
  'connection: upgrade': () => ({ headers: { connection: 'upgrade', upgrade: 'h2c' } }),
  'transfer-encoding: chunked': () => ({ headers: { 'transfer-encoding': 'chunked' } }),
  'a content-length that is none': () => ({ method: 'POST', headers: { 'content-length': 'x' }, body: 'x' }),
  'a content-length that is too long': () => ({ method: 'POST', headers: { 'content-length': '9' }, body: 'x' }),
  'a content-length that is too short': () => ({ method: 'POST', headers: { 'content-length': '1' }, body: 'xyz' }),
  'a path with a space': () => ({ path: '/version?a=b c' }),
  'a path with a line break': () => ({ path: '/version\r\nx: y' }),
  'a path beyond Latin-1': () => ({ path: '/version?a=\u{1F600}' }),
  'a path without a slash': () => ({ path: 'version' }),
  'an empty method': () => ({ method: '' }),
  'a method with a space': () => ({ method: 'GE T' }),
  'method CONNECT': () => ({ method: 'CONNECT' }),
  'an upgrade': () => ({ upgrade: 'chat' }),
  'a body that is a number': () => ({ method: 'POST', body: 5 }),
  'a body that is an object': () => ({ method: 'POST', body: { a: 1 } }),
  'a body of numbers': () => ({ method: 'POST', body: Readable.from([1, 2]) }),
  'a body that fails': () => ({
    method: 'POST',
    body: Readable.from(
      (async function* () {
        yield 'a';
        throw new Error('the body failed');
      })(),
    ),
  }),
  'a body that has failed': () => {
    const body = new Readable({ read: () => undefined });
    body.on('error', () => undefined).destroy(new Error('the body failed'));
    return { method: 'POST', body };
  },
  'another FormData': () => ({ method: 'POST', body: new FormData() }),
  'a time limit below zero': () => ({ headersTimeout: -1 }),
  'a reset that is a text': () => ({ reset: 'yes' }),
  'throwOnError, which is gone': () => ({ throwOnError: true }),
};

/** Sends it as a caller's library would. Gives the error, or the status. */
function send(dispatcher: Dispatcher, more: Malformed): Promise<unknown> {
  return new Promise((resolve) => {
    const options = { path: '/version', method: 'GET', ...more } as Dispatcher.DispatchOptions; // wrong on purpose
    dispatcher.dispatch(options, {
      onRequestStart: () => undefined,
      onRequestUpgrade: (_controller, statusCode) => resolve(statusCode),
      onResponseStart: (_controller, statusCode) => resolve(statusCode),
      onResponseError: (_controller, error) => resolve(error),
    });
  });
}

/** What a pool may look like when the request comes. */
const states: Readonly<Record<string, (t: TestContext) => Promise<Fleet>>> = {
  'the first on a connection': async (t) => {
    const fleet = await startFleet(t);
    await fleet.config.ready();
    return fleet;
  },
  'the first while the plugin runs': (t) => startFleet(t),
  'one of many on HTTP/2': async (t) => {
    const fleet = await startFleet(t);
    await good(fleet);
    return fleet;
  },
  'one of many on HTTP/1.1': async (t) => {
    const fleet = await startFleet(t, { cluster: { http2: false } });
    await good(fleet);
    return fleet;
  },
  'one on the socket for short requests': async (t) => {
    const fleet = await startFleet(t);
    for (let i = 0; i < 80; i++) await good(fleet);
    return fleet;
  },
};

async function good({ cluster, config }: Fleet): Promise<void> {
  const { statusCode, body } = await request(`${cluster.url}/version`, { dispatcher: config.dispatcher });
  await body.dump();
  assert.equal(statusCode, 200);
}

describe('a malformed request fails alone', () => {
  for (const [state, start] of Object.entries(states)) {
    test(state, async (t) => {
      const { cluster, config } = await start(t);
      const { dispatcher } = config;
      for (const [what, more] of Object.entries(malformed)) {
        const { body } = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher });
        // Twice in a row, and beside good ones.
        const [outcome, again] = await Promise.all([
          send(dispatcher, more()),
          send(dispatcher, more()),
          request(`${cluster.url}/version`, { dispatcher }).then((response) => response.body.dump()),
        ]);
        for (const one of [outcome, again]) {
          const fine = typeof one === 'number' || one instanceof Error;
          assert.ok(fine, `${what}: ${String(one)}`);
          if (one instanceof CredentialsError) assert.match(one.message, /ClusterProfile fleet\/spoke, https:/, what);
        }
        const { statusCode, body: rest } = await request(`${cluster.url}/version`, { dispatcher });
        await rest.dump();
        assert.equal(statusCode, 200, what);
        cluster.emit('ADDED', 'still-there');
        for await (const chunk of body) if (String(chunk).includes('still-there')) break;
      }
    });
  }
});
