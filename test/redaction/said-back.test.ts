// A server, or a proxy in between, that says the token back wherever it can say something.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, type TestContext, test } from 'node:test';
import { createServer } from 'node:tls';
import { inspect } from 'node:util';
import { CoreV1Api, Exec, Watch } from '@kubernetes/client-node';
import { request } from 'undici';
import { systemClock } from '../../src/fleet/clock.ts';
import { LeaseView } from '../../src/fleet/lease.ts';
import { Leases, leaseClient } from '../../src/fleet/leases.ts';
import { reflect } from '../../src/fleet/reflect/reflect.ts';
import type { RestConfig } from '../../src/index.ts';
import { listenTo } from '../fixtures/channel.ts';
import { startPlugin, startProviders } from '../fixtures/fleet.ts';
import { listen } from '../fixtures/listen.ts';
import { profileAt, tlsOptions } from '../fixtures/raw-h2.ts';
import { rejection } from '../fixtures/thrown.ts';

/** It has no known shape: only who has sent it knows that it is a secret. */
const token = 'sekret-token-abcdefghijklmnop-0123456789';

type Answer = (echo: string) => string;
const answer = (status: string, body = '', headers = '', type = 'application/json') =>
  `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
  `connection: close\r\n${headers}\r\n${body}`;
const status = (message: string) => JSON.stringify({ kind: 'Status', message, reason: message, code: 500 });

/** The server, and a program that hears all that can be heard. */
async function startEcho(t: TestContext, say: Answer) {
  const heard: unknown[] = [];
  const server = createServer(tlsOptions, (socket) => {
    t.after(() => socket.destroy());
    socket.on('error', () => undefined);
    let text = '';
    socket.on('data', (data) => {
      text += data;
      if (!text.includes('\r\n\r\n')) return;
      const [, authorization = 'none'] = /^authorization: (.*)$/im.exec(text) ?? [];
      assert.equal(authorization, `Bearer ${token}`);
      // Without its scheme, and as it was sent.
      socket.end(say(`${token} ${authorization}`));
    });
  });
  const { port } = await listen(t, server);
  const tell = (...line: unknown[]) => heard.push(line);
  for (const name of ['access-refused', 'request-end', 'rejection']) listenTo(t, name, tell);
  const logger = { warn: tell, info: tell, debug: tell };
  const allowedServers = [`https://127.0.0.1:${port}/apis`];
  const plugin = await startPlugin(t, { token });
  const providers = startProviders(t, plugin, { logger });
  const bound = startProviders(t, plugin, { logger }, { allowedServers });
  return {
    heard,
    logger,
    config: providers.getConfig(profileAt(port)),
    boundConfig: bound.getConfig(profileAt(port, { server: allowedServers[0] })),
    origin: `https://127.0.0.1:${port}`,
  };
}

type Program = Awaited<ReturnType<typeof startEcho>>;
/** Rejects, or resolves with what a program sees of it. */
type Use = (program: Program) => Promise<unknown>;

const exec: Use = ({ config }) => new Exec(config).exec('ns', 'pod', 'c', ['sh'], new PassThrough(), null, null, false);
const readPod: Use = ({ config }) => config.makeApiClient(CoreV1Api).readNamespace({ name: 'a' });
const fetched: Use = async ({ config }) => (await config.fetch('/version')).json();
const watch: Use = ({ config }) =>
  new Promise((...[, reject]) => {
    new Watch(config).watch('/api/v1/pods', { resourceVersion: '1' }, () => undefined, reject).catch(reject);
  });
const lease: Use = async ({ config }) => {
  const leases = new Leases(leaseClient(config, 'ns'), { clock: systemClock, limitMs: 5_000, advice: '' });
  const error = await rejection(leases.look(new LeaseView('a', 1_000, systemClock)));
  // What a controller may print of it.
  throw Object.assign(new Error('lease'), { cause: error, reason: Reflect.get(Object(error), 'reason') });
};
const reflected: Use = async ({ config, logger }) => {
  const stop = new AbortController();
  const restarts: unknown[] = [];
  const onRestart = (restart: unknown) => {
    restarts.push(restart);
    stop.abort();
  };
  const events = reflect(config, { apiVersion: 'v1', kind: 'Pod', signal: stop.signal, logger, onRestart });
  for await (const _ of events);
  throw new Error('restarted', { cause: restarts[0] });
};

const error = (echo: string) => `${JSON.stringify({ type: 'ERROR', object: JSON.parse(status(echo)) })}\n`;
const pods = { resources: [{ name: 'pods', kind: 'Pod', namespaced: true }] };
let asked = false;
/** A server that says one thing, and then another. */
const inTurn =
  (first: Answer, then: Answer): Answer =>
  (echo) => {
    asked = !asked;
    return asked ? first(echo) : then(echo);
  };
/** A server that knows pods, and then says this. */
const afterDiscovery = (say: Answer) => inTurn(() => answer('200 OK', JSON.stringify(pods)), say);
const page = (status: string, body: string) => answer(status, body, '', 'text/html');
const moved = (location: string) => answer('307 Temporary', '', `location: ${location}\r\n`);
const toAnotherHost: Answer = (echo) => moved(`https://${echo.replace(/.* /, '')}.example/`);
const toAnotherPath: Answer = (echo) => moved(`/other/${echo.replaceAll(' ', '/')}`);
const upgraded: Answer = (echo) =>
  `HTTP/1.1 101 ${echo}\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${echo}\r\n` +
  `sec-websocket-protocol: ${echo}\r\nsec-websocket-extensions: ${echo}\r\n\r\n`;
const packed: Answer = (echo) => answer('200 OK', '{}', `content-encoding: ${echo}\r\n`);
const nowhere: Answer = () => answer('404 Nowhere');
const unauthorized: Answer = () => answer('401 Unauthorized');
const fetchBound: Use = ({ boundConfig }) => boundConfig.fetch('/version');
const fetchHeard: Use = async ({ config, heard }) => {
  await config.fetch('/version');
  throw new Error('heard', { cause: heard });
};

const table: Readonly<Record<string, readonly [Use, Answer]>> = {
  'a WebSocket: the message of a Status': [exec, (echo) => answer('502 Bad', status(`refused: ${echo}`))],
  'a WebSocket: a Status that refuses the credential': [exec, (echo) => answer('401 Unauthorized', status(echo))],
  'a WebSocket: the text behind the status': [exec, (echo) => answer(`403 ${echo}`)],
  'a WebSocket: a header': [exec, (echo) => answer('403 Forbidden', '', `www-authenticate: ${echo}\r\n`)],
  'a WebSocket: a redirect': [exec, (echo) => answer('302 Found', '', `location: https://h/${echo}\r\n`)],
  'a WebSocket: its protocol': [exec, upgraded],
  'a generated client: a content type': [readPod, (echo) => answer('200 OK', '{}', '', `image/${echo}`)],
  'a generated client: no JSON': [readPod, (echo) => answer('200 OK', echo)],
  'a generated client: a body packed badly': [readPod, (echo) => answer('200 OK', echo, 'content-encoding: gzip\r\n')],
  'a generated client: a page': [readPod, (echo) => page(`200 ${echo}`, echo)],
  'a generated client: no HTTP': [readPod, (echo) => `HTTP/1.1 200 OK\r\ntransfer-encoding: ${echo}\0\r\n\r\n${echo}`],
  'fetch: no JSON': [fetched, (echo) => answer(`200 ${echo}`, echo)],
  'fetch: a redirect to another host': [fetched, toAnotherHost],
  'fetch: a redirect to no URL': [fetched, (echo) => moved(`https://[${echo}/`)],
  'fetch: a redirect to a path that is not allowed': [fetchBound, toAnotherPath],
  'fetch: a redirect to a path where it is refused': [fetchHeard, inTurn(toAnotherPath, unauthorized)],
  'a Watch: a redirect to a path that is not there': [
    watch,
    inTurn((echo) => moved(`/other/${echo.replaceAll(' ', '/')}?watch=1`), nowhere),
  ],
  'a Watch: a redirect to another host': [watch, toAnotherHost],
  'the dispatcher: no HTTP': [
    ({ config, origin }) => request(`${origin}/x`, { dispatcher: config.dispatcher }),
    (echo) => `HTTP/1.1 200 OK\r\ncontent-length: ${echo}\r\n\r\n`,
  ],
  'a Lease: a Status': [lease, (echo) => answer('500 Oops', status(echo))],
  'a Lease: a Status that forbids': [lease, (echo) => answer('403 Forbidden', status(echo))],
  'a Lease: a page': [lease, (echo) => page(`502 ${echo}`, `<p>${echo}`)],
  'a Lease: a page in which it is cut off': [lease, (echo) => page('502 Bad', `${'.'.repeat(190)}${echo}`)],
  'a Lease: a page of nothing else, which is cut off': [lease, (echo) => page('502 Bad', echo.repeat(2_000))],
  'a Lease: a page of nothing else, packed': [lease, (echo) => page('502 Bad', ` ${echo}`.repeat(380))],
  'discovery: a Status': [reflected, (echo) => answer('500 Oops', status(echo))],
  'a watch: a Status': [reflected, afterDiscovery((echo) => answer('500 Oops', status(echo)))],
  'a watch: its packing': [reflected, afterDiscovery(packed)],
  'a watch: an ERROR event': [reflected, afterDiscovery((echo) => answer('200 OK', error(echo)))],
};

describe('the token is in no error, log line or event, though the server says it back:', () => {
  for (const [what, [use, say]] of Object.entries(table)) {
    test(what, async (t) => {
      asked = false;
      const program = await startEcho(t, say);
      const outcome = await rejection(use(program));
      await (program.config satisfies RestConfig).close();
      const all = inspect([outcome, String(outcome), program.heard], { depth: 12, showHidden: true });
      for (const part of [token, token.slice(0, 12), token.slice(-15)]) {
        const at = all.toLowerCase().indexOf(part);
        assert.equal(at, -1, all.slice(Math.max(0, at - 300), at + 100));
      }
    });
  }
});
