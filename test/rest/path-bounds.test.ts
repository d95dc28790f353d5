import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:https';
import { describe, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { CoreV1Api, Exec } from '@kubernetes/client-node';
import { fetch, request } from 'undici';
import type { RestConfig } from '../../src/index.ts';
import { profileFor, startCluster, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { startPodServer } from '../fixtures/pod-server.ts';
import { endOfWatch, statusOf } from '../fixtures/requests.ts';

/** A gateway with a tenant at /v1/projects/1, which is all that a credential is for, and what it was asked. */
async function startTenant(t: TestContext) {
  const cluster = await startCluster(t, { pathPrefix: '/v1/projects/1' });
  const { origin } = new URL(cluster.url);
  const seen: string[] = [];
  cluster.onRequest = ({ url }) => seen.push(url);
  const providers = startProviders(t, await startPlugin(t), {}, { allowedServers: [cluster.url] });
  const config = providers.getConfig(profileFor(cluster));
  return { cluster, origin, config, seen };
}

/** Whether an error, or what is behind it, says that the path is not allowed. */
function isRefusal(error: unknown): boolean {
  return inspect(error, { depth: 5 }).includes('PATH_NOT_ALLOWED');
}

describe('a path in allowedServers', () => {
  test('binds a Watch: a redirect to another tenant on the same host gets no credential', async (t) => {
    const { cluster, config, seen, origin } = await startTenant(t);
    cluster.failNext({ redirect: `${origin}/v1/projects/2/api/v1/secrets` });
    const error = await endOfWatch(config);
    assert.ok(isRefusal(error), inspect(error));
    assert.deepEqual(seen, ['/v1/projects/1/api/v1/namespaces?watch=true']);
  });

  test('binds config.dispatcher, however the other path is written', async (t) => {
    const { config, seen, origin } = await startTenant(t);
    const { dispatcher } = config;
    for (const path of ['/v1/projects/2', '/', '/v1/projects/1/%2e%2e/2', '/v1/projects/1/..%2f2', '//v1/projects/1']) {
      await assert.rejects(dispatcher.request({ origin, method: 'GET', path }), { code: 'PATH_NOT_ALLOWED' }, path);
    }
    const absolute = { origin, method: 'GET', path: `${origin}/v1/projects/2` } as const;
    await assert.rejects(dispatcher.request(absolute), { code: 'PATH_NOT_ALLOWED' });
    await assert.rejects(request(`${origin}/v1/projects/1/../2`, { dispatcher }), {
      message:
        `ClusterProfile fleet/spoke, ${origin}/v1/projects/1: a request to a path outside of ${origin}/v1/projects/1 was ` +
        'refused: allowedServers of its provider binds it to that; see where the request, or a redirect of the server, leads',
    });
    await assert.rejects(fetch(`${origin}/v1/projects/2?secret=x`, { dispatcher }), isRefusal);
    assert.deepEqual(seen, []);
  });

  test('leaves everything below it as it is', async (t) => {
    const { cluster, config, seen, origin } = await startTenant(t);
    assert.equal((await config.makeApiClient(CoreV1Api).listNamespace()).items.length, 2);
    cluster.failNext({ redirect: `${origin}/v1/projects/1/version` });
    const response = await fetch(`${cluster.url}/moved`, { dispatcher: config.dispatcher });
    assert.equal(response.status, 200);
    await response.text();
    assert.deepEqual(seen, ['/v1/projects/1/api/v1/namespaces', '/v1/projects/1/moved', '/v1/projects/1/version']);
  });

  test('binds nothing where another pattern lets in all of the host', async (t) => {
    const { cluster, origin } = await startTenant(t);
    const allowedServers = [cluster.url, origin];
    const config = startProviders(t, await startPlugin(t), {}, { allowedServers }).getConfig(profileFor(cluster));
    assert.equal(await statusOf(`${origin}/elsewhere`, { dispatcher: config.dispatcher }), 404);
  });

  test('binds WebSockets: a name that leads out of it opens none', async (t) => {
    const server = await startPodServer(t);
    const cluster = { ...server.cluster, server: `${server.cluster.server}/tenant-1` };
    const rules = { allowedServers: [cluster.server] };
    const profile = { status: { accessProviders: [{ name: 'fake', cluster }] } };
    const config = startProviders(t, await startPlugin(t), {}, rules).getConfig(profile);
    await assert.rejects(open(config, '../../../../../../tenant-2/api/v1/namespaces/ns/pods/pod'), isRefusal);
    assert.deepEqual([server.identities, server.unauthorized], [[], []]);
    await open(config, 'pod');
    assert.deepEqual(server.identities, ['token-1']);
  });

  test('binds clients that take the options of a WebSocket and do not let their path be checked, as ws did before 8.13', async (t) => {
    const { cluster, config, seen } = await startTenant(t);
    const options = {};
    await config.applyToHTTPSOptions(options);
    const { hostname, port } = new URL(cluster.url);
    const [error] = await once(get({ ...options, hostname, port, path: '/v1/projects/2' }), 'error');
    assert.match(error.message, /path cannot be checked was refused/);
    assert.equal(error.code, 'PATH_NOT_ALLOWED');
    assert.deepEqual(seen, []);
  });
});

/** Runs `true` in a pod, to its end. */
function open(config: RestConfig, pod: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    new Exec(config).exec('ns', pod, 'main', ['true'], null, null, null, false, resolve).catch(reject);
  });
}
