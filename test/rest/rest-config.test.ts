import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { inspect } from 'node:util';
import { CoreV1Api } from '@kubernetes/client-node';
import { request } from 'undici';
import type { RestConfig } from '../../src/index.ts';
import { newNamespace, profileFor, startCluster, startFleet, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { until } from '../fixtures/until.ts';

async function list(config: RestConfig): Promise<number> {
  return (await config.makeApiClient(CoreV1Api).listNamespace()).items.length;
}

describe('a RestConfig', () => {
  test('has one cluster, context and user, as resolved, and no exec, so that client-node does not run the plugin itself', async (t) => {
    const { config, cluster, providers, profile } = await startFleet(t);
    assert.deepEqual(config.access, providers.resolve(profile));
    assert.equal(config.getContextObject('fleet/spoke')?.user, 'fake');
    assert.equal(config.getCluster('fleet/spoke')?.server, cluster.url);
    assert.equal(config.getCluster('other'), null);
    assert.deepEqual(config.getUsers(), [{ name: 'fake' }]);
    assert.equal(config.getCurrentContext(), 'fleet/spoke');
    assert.equal(config.getCurrentCluster()?.server, cluster.url);
  });

  test('is immutable', async (t) => {
    const { config } = await startFleet(t);
    const server = { name: 'x', server: 'https://x', skipTLSVerify: false };
    const message = /is immutable: load another one with RestConfig\.fromKubeConfig/;
    const refused = { code: 'OPTION_INVALID', message };
    assert.throws(() => config.setCurrentContext('x'), refused);
    assert.throws(() => config.loadFromClusterAndUser(server, { name: 'x' }), refused);
    assert.throws(() => config.addCluster(server), refused);
    assert.throws(() => config.loadFromDefault(), refused);
    assert.throws(() => Object.assign(config, { currentContext: 'x' }), TypeError);
    assert.throws(() => config.users.push({ name: 'x' }), TypeError);
  });
});

describe('equal inputs', () => {
  test('share one pool and one credential however often getConfig is called', async (t) => {
    const { cluster, plugin, providers, profile } = await startFleet(t);
    for (let i = 0; i < 100; i++) assert.equal(await list(providers.getConfig(profile)), 2);
    assert.equal(await plugin.runs(), 1);
    // The second is for short requests, since there are many.
    assert.ok(cluster.stats.connections <= 2, `${cluster.stats.connections} connections`);
    assert.match(inspect(providers), /connections: 1, sources: 1/);
  });

  test('share one credential, and no connection, where a gateway leads to several clusters by their paths', async (t) => {
    const cluster = await startCluster(t, { pathPrefix: '/clusters/two' });
    const providers = startProviders(t, await startPlugin(t));
    const stop = new AbortController();
    t.after(() => stop.abort());
    const other = providers.getConfig(profileFor(cluster, { server: cluster.url.replace('two', 'one') }));
    cluster.failNext('hang', 100, ({ url }) => url.startsWith('/clusters/one'));
    for (let i = 0; i < 100; i++) other.fetch('/version', { signal: stop.signal }).catch(() => undefined);
    await until(t, () => cluster.stats.requests >= 32);
    const before = cluster.stats.requests;
    assert.equal(await list(providers.getConfig(profileFor(cluster))), 2);
    assert.equal(cluster.stats.requests, before + 1);
    assert.match(inspect(providers), /connections: 2, sources: 1/);
  });

  test('are not equal where the plugin is told of the cluster', async (t) => {
    const [first, second] = [await startCluster(t), await startCluster(t)];
    const plugin = await startPlugin(t);
    const providers = startProviders(t, plugin, {}, { execConfig: { provideClusterInfo: true } });
    for (const cluster of [first, second]) await list(providers.getConfig(profileFor(cluster)));
    assert.equal(await plugin.runs(), 2);
  });

  test('cost nothing until a request is made', async (t) => {
    const { plugin, providers, profile } = await startFleet(t);
    for (let i = 0; i < 100; i++) providers.getConfig(profile);
    assert.match(inspect(providers), /connections: 0, sources: 0/);
    assert.equal(await plugin.runs(), 0);
  });
});

describe('a lease', () => {
  test('is given back by close(), which leaves other configs and open streams alone', async (t) => {
    const { cluster, providers, profile, config } = await startFleet(t);
    const other = providers.getConfig(profile);
    const { body } = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: config.dispatcher });
    await once(body, 'readable');
    await config.close();
    const closed = {
      code: 'CONFIG_CLOSED',
      message: /^ClusterProfile fleet\/spoke, https:\S+: this config has been closed: get a new one/,
    };
    await assert.rejects(list(config), { name: 'RequestError', ...closed });
    await assert.rejects(config.ready(), closed);
    cluster.add(newNamespace('after-close'));
    for await (const chunk of body) if (String(chunk).includes('after-close')) break;
    assert.equal(await list(other), 3);
  });

  test('that is the last is followed by idleTimeoutMs, and then everything is closed', async (t) => {
    const { cluster, config, providers } = await startFleet(t, { options: { idleTimeoutMs: 100 } });
    const response = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: config.dispatcher });
    await once(response.body, 'readable');
    await config.close();
    await setTimeout(150);
    assert.match(inspect(providers), /connections: 1, sources: 1/, 'a stream that is under way goes on');
    response.body.on('error', () => undefined).destroy();
    await until(t, () => cluster.stats.openConnections === 0);
    assert.match(inspect(providers), /connections: 0, sources: 0/);
  });

  // Node warns of a timer that is too long, and a warning fails the run.
  test('that is the last is followed by the longest idleTimeoutMs that there is', async (t) => {
    const { config, providers } = await startFleet(t, { options: { idleTimeoutMs: 2 ** 31 - 1 } });
    await list(config);
    await config.close();
    await setTimeout(10);
    assert.match(inspect(providers), /connections: 1/);
  });

  test('that is never given back ends with the garbage collector', async (t) => {
    const { providers, profile } = await startFleet(t, { options: { idleTimeoutMs: 0 } });
    assert.ok(globalThis.gc, 'tests run with --expose-gc');
    await (async () => list(providers.getConfig(profile)))();
    await until(t, async () => {
      await setTimeout(1_000); // a collection takes long
      globalThis.gc?.();
      return inspect(providers).includes('connections: 0');
    });
  });

  test('can be used with await using', async (t) => {
    const { providers, profile } = await startFleet(t, { options: { idleTimeoutMs: 0 } });
    {
      await using config = providers.getConfig(profile);
      await list(config);
    }
    await until(t, () => inspect(providers).includes('connections: 0, sources: 0'));
  });
});
