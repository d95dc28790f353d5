import assert from 'node:assert/strict';
import { get } from 'node:https';
import { Readable } from 'node:stream';
import { describe, type TestContext, test } from 'node:test';
import { BatchV1Api, CoreV1Api, Exec } from '@kubernetes/client-node';
import { Preview, toKubeConfig } from '../../src/index.ts';
import { configMap as mapOf } from '../fixtures/api.ts';
import { profileFor, startCluster, startFleet, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { statusOf } from '../fixtures/requests.ts';

const configMap = (name: string, data: Readonly<Record<string, string>> = {}) => ({ ...mapOf(name), data });
const kind = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', fieldManager: 'test' } as const;
const path = '/api/v1/namespaces/default/configmaps';

async function startPreview(t: TestContext) {
  const lines: string[] = [];
  const logger = { warn: () => undefined, info: (_fields: object, message: string) => void lines.push(message) };
  const parts = await startFleet(t, { options: { logger } });
  const config = parts.providers.getConfig(parts.profile, { preview: true });
  t.after(() => config.close());
  const said = () => lines.map((line) => line.replace(/^.*?: (?=would )/, ''));
  return {
    ...parts,
    config,
    said,
    everything: () => JSON.stringify(parts.cluster.list({ apiVersion: 'v1', kind: 'ConfigMap' })),
  };
}

describe('a config with preview', () => {
  test('changes nothing, whichever client writes, and says what each write would change', async (t) => {
    const { cluster, config, said, everything } = await startPreview(t);
    cluster.add([configMap('a', { x: '1', y: '1' }), configMap('b')]);
    const before = everything();
    const maps = config.resource(kind);
    assert.equal((await maps.apply({ metadata: { name: 'a' }, data: { x: '2' } }, { force: true })).data?.x, '2');
    await maps.create({ metadata: { name: 'c' }, data: { z: '1' } });
    await maps.create({ metadata: { generateName: 'made-' } });
    await maps.create({ metadata: { generateName: 'made-' } });
    await maps.delete('b', { propagationPolicy: 'Background' });
    const core = config.makeApiClient(CoreV1Api);
    await core.replaceNamespacedConfigMap({ namespace: 'default', name: 'a', body: { ...configMap('a', { y: '3' }) } });
    await core.deleteNamespacedConfigMap({ namespace: 'default', name: 'a', body: { gracePeriodSeconds: 0 } });
    await core.deleteCollectionNamespacedConfigMap({ namespace: 'default' });
    const patch = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } };
    const body = JSON.stringify({ data: { x: null } });
    assert.ok((await config.fetch(`${path}/a`, { ...patch, body })).ok);
    const { origin } = new URL(cluster.url);
    const headers = { 'content-type': 'application/json' };
    const direct = { method: 'DELETE', dispatcher: config.dispatcher, headers } as const;
    const options = Readable.from([Buffer.from('{"kind":"DeleteOptions",'), Buffer.from('"apiVersion":"v1"}')]);
    await statusOf(`${origin}${path}/b`, { ...direct, body: options });
    assert.equal(everything(), before);
    assert.deepEqual(said(), [
      'would update ConfigMap default/a: data.x: "1" -> "2"',
      'would create ConfigMap default/c: data.z: "1"; metadata.name: "c"; metadata.namespace: "default"',
      'would create ConfigMap default/made-*: metadata.generateName: "made-"; metadata.name: "made-*"; metadata.namespace: "default"',
      'would delete configmaps default/b',
      'would update ConfigMap default/a: data.x: "1" -> (none); data.y: "1" -> "3"',
      'would delete configmaps default/a',
      'would delete ConfigMap default (2 of them)',
      'would update ConfigMap default/a: data.x: "1" -> (none)',
    ]);
    const counts = config.preview
      ?.summary()
      .map(({ verb, object, count, cluster: name }) => `${name} ${verb} ${object} ${count}`);
    assert.deepEqual(counts, [
      'fleet/spoke create default/c 1',
      'fleet/spoke create default/made-* 2',
      'fleet/spoke delete default (2 of them) 1',
      'fleet/spoke update default/a 1',
      'fleet/spoke update default/a 1',
      'fleet/spoke delete default/a 1',
      'fleet/spoke update default/a 1',
      'fleet/spoke delete default/b 2',
    ]);
  });

  test('reads as any other config does, and says nothing of a write that changes nothing', async (t) => {
    const { cluster, config, said } = await startPreview(t);
    cluster.add(configMap('a', { x: '1' }));
    const maps = config.resource(kind);
    const { items } = await maps.list();
    assert.ok(items.some(({ metadata }) => metadata.name === 'a'));
    await maps.patch('a', { data: { x: '1' } });
    await assert.rejects(maps.patch('none', { data: {} }), { statusCode: 404 });
    await assert.rejects(maps.create(configMap('a')), { statusCode: 409 });
    assert.deepEqual([said(), config.preview?.summary()], [[], []]);
  });

  test('knows the paths of its cluster behind a gateway, where another one was asked first', async (t) => {
    const cluster = await startCluster(t, { pathPrefix: '/clusters/two' });
    const providers = startProviders(t, await startPlugin(t));
    const other = providers.getConfig(profileFor(cluster, { server: cluster.url.replace('two', 'one') }));
    await (await other.fetch('/version')).text();
    const config = providers.getConfig(profileFor(cluster), { preview: true });
    await config.resource(kind).create(configMap('a'));
    assert.deepEqual([config.preview?.summary().length, cluster.get(configMap('a'))], [1, undefined]);
  });

  test('refuses what has no dry run, and gives its credential to nobody', async (t) => {
    const { config, cluster } = await startPreview(t);
    const refused = (call: Promise<unknown>, message: RegExp) =>
      assert.rejects(call, { name: 'RequestError', code: 'PREVIEW_REFUSED', message });
    const pod = '/api/v1/namespaces/default/pods/p';
    for (const [method, target] of [
      ['POST', `${pod}/exec?command=ls`],
      ['GET', `${pod}/%65xec`],
      ['GET', `${pod}/proxy/metrics`],
      ['POST', `${pod}/portforward`],
      ['POST', '/api/v1/namespaces/default/serviceaccounts/x/token'],
      ['POST', '/anything'],
    ] as const) {
      const why = /^ClusterProfile fleet\/spoke.*this config is a preview, which changes nothing: /;
      await refused(config.fetch(target, { method }), why);
    }
    await refused(config.credential(), /its credential is not handed out/);
    const body = 'apiVersion: v1';
    await refused(config.fetch(`${path}/a`, { method: 'DELETE', body }), /the options of a delete have to be JSON/);
    const exec = new Exec(config).exec('default', 'p', 'c', ['ls'], null, null, null, false);
    await refused(exec, /a WebSocket has no dry run/);
    const other = toKubeConfig(config, (await import('@kubernetes/client-node')).KubeConfig);
    await refused(other.applyToHTTPSOptions({}), /a WebSocket has no dry run/);
    cluster.add(configMap('a'));
    const viaAgent = await new Promise<number | undefined>((resolve, reject) => {
      get(`${cluster.url}${path}/a`, { method: 'DELETE', agent: config.agent }, ({ statusCode }) =>
        resolve(statusCode),
      ).on('error', reject);
    });
    assert.equal(viaAgent, 200);
    assert.ok(cluster.get(configMap('a')));
  });

  test('shows no value of a Secret', async (t) => {
    const { cluster, config, said } = await startPreview(t);
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'default' } };
    cluster.add({ ...secret, data: { password: 'b2xk' } });
    const secrets = config.resource({ apiVersion: 'v1', kind: 'Secret', namespace: 'default', fieldManager: 'test' });
    await secrets.patch('s', { data: { password: 'bmV3', token: 'bmV3' }, type: 'Opaque' });
    const [line = ''] = said();
    const hidden = /^would update Secret default\/s: data.password: \(hidden\) -> \(hidden\); data.token: \(hidden\)/;
    assert.match(line, hidden);
    assert.doesNotMatch(JSON.stringify([line, config.preview?.summary()]), /bmV3|b2xk/);
  });

  test('says that changes are not known where the object cannot be read', async (t) => {
    const { cluster, config, said } = await startPreview(t);
    cluster.add(configMap('a', { x: '1' }));
    cluster.failNext(403, 1, ({ method, url }) => method === 'GET' && url.endsWith('/a'));
    await config.resource(kind).patch('a', { data: { x: '2' } });
    assert.deepEqual(said(), [
      'would update ConfigMap default/a: its changes are not known, since it cannot be read or compared',
    ]);
    assert.equal(config.preview?.summary()[0]?.changes, undefined);
  });

  test('can share what it collects with other configs, and its options are looked at', async (t) => {
    const { providers, profile, config } = await startPreview(t);
    const preview = new Preview();
    await using one = providers.getConfig(profile, { preview });
    await using two = providers.getConfig(profile, { preview, impersonate: { user: 'jane' } });
    for (const each of [one, two]) await each.resource(kind).create(configMap(`of-${each === one ? 1 : 2}`));
    assert.equal(preview.summary().length, 2);
    assert.deepEqual(config.preview?.summary(), []);
    await using ordinary = providers.getConfig(profile, { preview: false });
    assert.equal(ordinary.preview, undefined);
    const wrong = { preview: 'yes' } as never;
    assert.throws(() => providers.getConfig(profile, wrong), /preview: must be true, false or new Preview\(\)/);
  });

  test('ends a write that its caller gives up while the object is read', async (t) => {
    const { cluster, config, said } = await startPreview(t);
    cluster.add(configMap('a'));
    cluster.failNext('hang', 1, ({ method, url }) => method === 'GET' && url.endsWith('/a'));
    const stop = new AbortController();
    const write = config.resource(kind).patch('a', { data: { x: '2' } }, { signal: stop.signal });
    setImmediate(() => stop.abort(new Error('enough')));
    await assert.rejects(write, /enough/);
    await config
      .makeApiClient(BatchV1Api)
      .listNamespacedJob({ namespace: 'default' })
      .catch(() => undefined);
    assert.deepEqual(said(), []);
  });
});
