// `providers.close()` at every moment: what waits is told at once, no plugin starts any more, and no connection stays.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { request } from 'undici';
import WebSocket from 'ws';
import {
  type ClusterProfile,
  CredentialProviders,
  type CredentialProvidersOptions,
  RequestError,
  RestConfig,
} from '../src/index.ts';
import { createCertificateAuthority } from '../src/testing/index.ts';
import { startFleet, startPlugin, startProviders } from './fixtures/fleet.ts';
import { startHttpProxy, startSilentProxy } from './fixtures/proxies.ts';
import { ended, print, shellPlugin } from './fixtures/script.ts';
import { openWebSocket, startTlsServer } from './fixtures/tls-server.ts';
import { until } from './fixtures/until.ts';

const authority = createCertificateAuthority();
const certificateAuthorityData = Buffer.from(authority.certificate).toString('base64');
const tick = () => new Promise((resolve) => setImmediate(resolve));

function profileOf(server: string, more: object = {}): ClusterProfile {
  const cluster = { server, 'certificate-authority-data': certificateAuthorityData, ...more };
  return { metadata: { name: 'spoke' }, status: { accessProviders: [{ name: 'fake', cluster }] } };
}

function providersOf(t: TestContext, command: string, options: CredentialProvidersOptions = {}): CredentialProviders {
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command } as const;
  const providers = new CredentialProviders([{ name: 'fake', execConfig }], {
    logger: { warn: () => undefined },
    ...options,
  });
  t.after(() => providers.close());
  return providers;
}

/** A plugin that leaves its process id, and waits until it is told to go on. */
const waitingPlugin = (t: TestContext) =>
  shellPlugin(
    t,
    `echo $$ > "$DIR/pid.new"; mv "$DIR/pid.new" "$DIR/pid"
while [ ! -e "$DIR/go" ]; do sleep 0.01; done\n${print({ token: 'token-1' })}`,
  );
const pidOf = (folder: string) => readFile(join(folder, 'pid'), 'utf8').catch(() => '');

const stopped = { code: 'PLUGIN_STOPPED', message: /closed/ };

describe('close() of the providers', () => {
  test('while the files of a plugin are looked at, at any point: it is not started, or it is killed', async (t) => {
    let started = 0;
    for (let ticks = 0; ticks < 12; ticks++) {
      const plugin = await waitingPlugin(t);
      const providers = providersOf(t, plugin.command, {
        pluginPolicy: { policyType: 'Allowlist', allowlist: [{ command: plugin.command }] },
      });
      const ready = assert.rejects(providers.getConfig(profileOf('https://127.0.0.1:1')).ready(), stopped);
      for (let i = 0; i < ticks; i++) await tick();
      await providers.close();
      await ready;
      // What was forked before it was closed may have come to its first line.
      const pid = await pidOf(plugin.folder);
      if (pid !== '') {
        started += 1;
        await ended(t, Number(pid));
      } else if (ticks < 2) {
        for (let i = 0; i < 20; i++) await tick();
        assert.equal(await plugin.runs(), 0, `after ${ticks} ticks`);
      }
    }
    assert.ok(started < 12);
  });

  test('while a run waits for a plugin of another instance: it rejects at once, and never starts', async (t) => {
    const holding = await waitingPlugin(t);
    const holder = providersOf(t, holding.command, { maxConcurrentRuns: 1 });
    const held = assert.rejects(holder.getConfig(profileOf('https://127.0.0.1:1')).ready(), stopped);
    await until(t, async () => (await pidOf(holding.folder)) !== '');
    const waiting = await shellPlugin(t, print({ token: 'token-1' }));
    const providers = providersOf(t, waiting.command, { maxConcurrentRuns: 1 });
    const config = providers.getConfig(profileOf('https://127.0.0.1:1'));
    const rejected = Promise.all([
      assert.rejects(config.ready(), stopped),
      assert.rejects(config.ready(), stopped),
      assert.rejects(request('https://127.0.0.1:1', { dispatcher: config.dispatcher }), { code: 'CONFIG_CLOSED' }),
    ]);
    await tick();
    await providers.close();
    await rejected;
    assert.notEqual(await pidOf(holding.folder), '', 'the other one still runs');
    await holder.close();
    await held;
    assert.equal(await waiting.runs(), 0);
  });

  test('while a plugin runs and others wait for its place: all reject, none starts, and the process is gone', async (t) => {
    const plugin = await waitingPlugin(t);
    const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command } as const;
    const providers = new CredentialProviders(
      [{ name: 'fake', execConfig: { ...execConfig, provideClusterInfo: true } }],
      {
        maxConcurrentRuns: 1,
      },
    );
    const runs = [1, 2, 3].map((port) =>
      assert.rejects(providers.getConfig(profileOf(`https://127.0.0.1:${port}`)).ready(), stopped),
    );
    await until(t, async () => (await pidOf(plugin.folder)) !== '');
    await providers.close();
    await Promise.all(runs);
    await ended(t, Number(await pidOf(plugin.folder)));
    assert.equal(await plugin.runs(), 1);
  });

  test('while a request is refreshed after a 401: it rejects or has its 401, and no plugin is left', async (t) => {
    const { cluster, plugin, providers, config } = await startFleet(t);
    await config.ready();
    cluster.setTokens({});
    await plugin.answer({ token: 'token-2', delayMs: 60_000 });
    const refused = request(`${cluster.url}/version`, { dispatcher: config.dispatcher }).then(
      async ({ statusCode, body }) => {
        await body.dump();
        return statusCode;
      },
      () => 401,
    );
    await until(t, async () => (await plugin.runs()) === 2);
    await providers.close();
    assert.equal(await refused, 401);
    assert.equal(await plugin.runs(), 2);
    await until(t, () => cluster.stats.openConnections === 0);
  });

  test('while a refresh ahead of expiry runs: it is killed', async (t) => {
    const start = Date.now();
    let now = start;
    const plugin = await shellPlugin(
      t,
      `if [ -e "$DIR/pid" ]; then echo $$ > "$DIR/second.new"; mv "$DIR/second.new" "$DIR/second"; exec sleep 1000; fi
echo $$ > "$DIR/pid"\n${print({ token: 't', expirationTimestamp: new Date(start + 600_000).toISOString() })}`,
    );
    const providers = providersOf(t, plugin.command, { clock: () => now });
    const config = providers.getConfig(profileOf('https://127.0.0.1:1'));
    await config.ready();
    now = start + 595_000;
    await config.ready();
    let pid = '';
    await until(t, async () => {
      pid = await readFile(join(plugin.folder, 'second'), 'utf8').catch(() => '');
      return pid !== '';
    });
    await providers.close();
    await ended(t, Number(pid));
  });

  test('is an end: everything afterwards rejects with CONFIG_CLOSED, and runs nothing', async (t) => {
    const plugin = await startPlugin(t);
    const providers = startProviders(t, plugin);
    const config = providers.getConfig(profileOf('https://127.0.0.1:1'));
    await providers.close();
    const closed = { code: 'CONFIG_CLOSED' };
    assert.throws(() => providers.getConfig(profileOf('https://127.0.0.1:1')), closed);
    await assert.rejects(config.ready(), closed);
    await assert.rejects(config.applyToHTTPSOptions({}), closed);
    await assert.rejects(request('https://127.0.0.1:1', { dispatcher: config.dispatcher }), closed);
    await assert.rejects(config.makeApiClient(CoreV1Api).listNamespace());
    await providers.close();
    assert.equal(await plugin.runs(), 0);
  });
});

describe('close() of the providers, and connections:', () => {
  /** What a connection waits for when it never comes to be. */
  const dead: Readonly<
    Record<
      string,
      (t: TestContext) => Promise<{ profile: ClusterProfile; connected: Promise<void>; open: ReadonlySet<unknown> }>
    >
  > = {
    'a server that ends no handshake': async (t) => {
      const { port, connected, open } = await startSilentProxy(t);
      return { profile: profileOf(`https://127.0.0.1:${port}`), connected, open };
    },
    'an http proxy that says nothing': async (t) => {
      const { port, connected, open } = await startSilentProxy(t);
      return {
        profile: profileOf('https://spoke.example', { 'proxy-url': `http://127.0.0.1:${port}` }),
        connected,
        open,
      };
    },
    'an https proxy that ends no handshake': async (t) => {
      const { port, connected, open } = await startSilentProxy(t);
      return {
        profile: profileOf('https://spoke.example', { 'proxy-url': `https://127.0.0.1:${port}` }),
        connected,
        open,
      };
    },
    'a socks5 proxy that says nothing': async (t) => {
      const { port, connected, open } = await startSilentProxy(t);
      return {
        profile: profileOf('https://spoke.example', { 'proxy-url': `socks5://127.0.0.1:${port}` }),
        connected,
        open,
      };
    },
    'a server behind a proxy that ends no handshake': async (t) => {
      const proxy = await startHttpProxy(t);
      const { port, connected, open } = await startSilentProxy(t);
      return { profile: profileOf(`https://127.0.0.1:${port}`, { 'proxy-url': proxy.url }), connected, open };
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

  for (const route of ['directly', 'through a proxy']) {
    test(`an open WebSocket ends, ${route}`, async (t) => {
      const server = await startTlsServer(t, authority.issue({ commonName: 'x', ipAddresses: ['127.0.0.1'] }));
      const more = route === 'directly' ? {} : { 'proxy-url': (await startHttpProxy(t)).url };
      const providers = startProviders(t, await startPlugin(t));
      const config = providers.getConfig(profileOf(server.url, more));
      const sockets = await Promise.all([1, 2, 3].map(() => openWebSocket(config, server.url)));
      const ends = Promise.all(sockets.map((socket) => once(socket, 'close')));
      await providers.close();
      await ends;
      await until(t, () => server.open.size === 0);
    });
  }

  test('a WebSocket for which the options are there, and no connection yet, gets none', async (t) => {
    const server = await startTlsServer(t, authority.issue({ commonName: 'x', ipAddresses: ['127.0.0.1'] }));
    const providers = startProviders(t, await startPlugin(t));
    const config = providers.getConfig(profileOf(server.url));
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
  test('goes on when its config is closed and swept, and ends with the providers all the same', async (t) => {
    const server = await startTlsServer(t, authority.issue({ commonName: 'x', ipAddresses: ['127.0.0.1'] }));
    const clock = { now: Date.now() };
    const providers = startProviders(t, await startPlugin(t), { clock: () => clock.now, idleTimeoutMs: 1_000 });
    const config = providers.getConfig(profileOf(server.url));
    const socket = await openWebSocket(config, server.url);
    await config.close();
    clock.now += 3_600_000;
    providers.getConfig(profileOf('https://127.0.0.1:1'));
    socket.send('still there');
    assert.equal(String((await once(socket, 'message'))[0]), 'still there');
    const end = once(socket, 'close');
    await providers.close();
    await end;
  });

  test('of a kubeconfig goes on when its config is closed, as streams do', async (t) => {
    const server = await startTlsServer(t, authority.issue({ commonName: 'x', ipAddresses: ['127.0.0.1'] }));
    const plugin = await startPlugin(t);
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command, interactiveMode: 'Never' };
    const cluster = { server: server.url, 'certificate-authority-data': certificateAuthorityData };
    const text = JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { exec } }],
    });
    const config = RestConfig.fromKubeConfig({ text });
    const socket = await openWebSocket(config, server.url);
    await config.close();
    socket.send('still there');
    assert.equal(String((await once(socket, 'message'))[0]), 'still there');
    socket.terminate();
    await once(socket, 'close');
  });

  test('for another server than the config is for is refused', async (t) => {
    const server = await startTlsServer(t, authority.issue({ commonName: 'x', ipAddresses: ['127.0.0.1'] }));
    const own = await startTlsServer(t, authority.issue({ commonName: 'x', ipAddresses: ['127.0.0.1'] }));
    const config = startProviders(t, await startPlugin(t)).getConfig(profileOf(own.url));
    await assert.rejects(openWebSocket(config, server.url), (error: unknown) => {
      assert.ok(error instanceof RequestError && error.code === 'FOREIGN_ORIGIN');
      return error.message.includes(`for ${own.url} only`);
    });
    assert.deepEqual(server.seen, []);
  });
});
