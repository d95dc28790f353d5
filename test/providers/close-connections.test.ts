// `providers.close()` and `config.close()`: which connections end, and which go on.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { request } from 'undici';
import WebSocket from 'ws';
import type { ClusterProfile } from '../../src/index.ts';
import { startPlugin, startProviders } from '../fixtures/fleet.ts';
import { clusterOf, load } from '../fixtures/kubeconfigs.ts';
import { startHttpProxy, startSilentProxy } from '../fixtures/proxies.ts';
import { placeAt, profileAt } from '../fixtures/raw-h2.ts';
import { openWebSocket, startTlsServer } from '../fixtures/tls-server.ts';
import { until } from '../fixtures/until.ts';

describe('close() of the providers, and connections:', () => {
  /** What a connection waits for when it never comes to be. */
  interface Dead {
    readonly profile: ClusterProfile;
    readonly connected: Promise<void>;
    readonly open: ReadonlySet<unknown>;
  }
  const silentProxy = (scheme: string) => async (t: TestContext) => {
    const { port, connected, open } = await startSilentProxy(t);
    const proxy = { 'proxy-url': `${scheme}://127.0.0.1:${port}` };
    return { profile: profileAt(443, { server: 'https://spoke.example', ...proxy }), connected, open };
  };
  const dead: Readonly<Record<string, (t: TestContext) => Promise<Dead>>> = {
    'a server that ends no handshake': async (t) => {
      const { port, connected, open } = await startSilentProxy(t);
      return { profile: profileAt(port), connected, open };
    },
    'an http proxy that says nothing': silentProxy('http'),
    'an https proxy that ends no handshake': silentProxy('https'),
    'a socks5 proxy that says nothing': silentProxy('socks5'),
    'a server behind a proxy that ends no handshake': async (t) => {
      const proxy = await startHttpProxy(t);
      const { port, connected, open } = await startSilentProxy(t);
      return { profile: profileAt(port, { 'proxy-url': proxy.url }), connected, open };
    },
  };
  for (const [what, start] of Object.entries(dead)) {
    test(`a request and a WebSocket that wait for ${what} reject at once, and leave nothing open`, async (t) => {
      for (const way of ['request', 'WebSocket'] as const) {
        const { profile, connected, open } = await start(t);
        const providers = startProviders(t, await startPlugin(t));
        const config = providers.getConfig(profile);
        const { server } = config.access.cluster;
        const opening =
          way === 'request' ? request(server, { dispatcher: config.dispatcher }) : openWebSocket(config, server);
        // Not the end of a connection's own time.
        const rejected = assert.rejects(opening, way === 'WebSocket' ? { code: 'CONFIG_CLOSED' } : Error);
        await connected;
        await providers.close();
        await rejected;
        await until(t, () => open.size === 0);
      }
    });
  }

  test('open WebSockets end, directly and through a proxy', async (t) => {
    const server = await startTlsServer(t);
    const proxy = await startHttpProxy(t);
    const providers = startProviders(t, await startPlugin(t));
    const open = (more: object) => openWebSocket(providers.getConfig(profileAt(server.port, more)), server.url);
    const sockets = await Promise.all([{}, {}, { 'proxy-url': proxy.url }, { 'proxy-url': proxy.url }].map(open));
    const ends = Promise.all(sockets.map((socket) => once(socket, 'close')));
    await providers.close();
    await ends;
    await until(t, () => server.open.size === 0);
  });

  test('a WebSocket for which the options are there, and no connection yet, gets none', async (t) => {
    const server = await startTlsServer(t);
    const providers = startProviders(t, await startPlugin(t));
    const config = providers.getConfig(profileAt(server.port));
    const options: WebSocket.ClientOptions = {};
    await config.applyToHTTPSOptions(options);
    await providers.close();
    const socket = new WebSocket(server.url.replace('https', 'wss'), options);
    const [error] = await once(socket, 'error');
    assert.equal(error.code, 'CONFIG_CLOSED');
    assert.deepEqual(server.seen, []);
  });
});

describe('a WebSocket', () => {
  test('goes on when its config is closed, and ends with the providers all the same', async (t) => {
    const server = await startTlsServer(t);
    const providers = startProviders(t, await startPlugin(t), { idleTimeoutMs: 0 });
    const config = providers.getConfig(profileAt(server.port));
    const socket = await openWebSocket(config, server.url);
    await config.close();
    // Longer than idleTimeoutMs.
    await pause(50);
    socket.send('still there');
    assert.equal(String((await once(socket, 'message'))[0]), 'still there');
    const end = once(socket, 'close');
    await providers.close();
    await end;
  });

  test('of a kubeconfig goes on when its config is closed, as streams do', async (t) => {
    const server = await startTlsServer(t);
    const plugin = await startPlugin(t);
    const config = load(t, { cluster: clusterOf(placeAt(server.port)), exec: { command: plugin.command } });
    const socket = await openWebSocket(config, server.url);
    await config.close();
    socket.send('still there');
    assert.equal(String((await once(socket, 'message'))[0]), 'still there');
    socket.terminate();
    await once(socket, 'close');
  });

  test('for another server than the config is for is refused', async (t) => {
    const server = await startTlsServer(t);
    const own = await startTlsServer(t);
    const config = startProviders(t, await startPlugin(t)).getConfig(profileAt(own.port));
    const refused = { name: 'RequestError', code: 'FOREIGN_ORIGIN', message: new RegExp(`for ${own.url} only`) };
    await assert.rejects(openWebSocket(config, server.url), refused);
    assert.deepEqual(server.seen, []);
  });
});
