// A streaming list of a server that is not on this machine is asked for with gzip. Kubernetes 1.37 compresses it, and earlier ones do not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CoreV1Api, VersionApi } from '@kubernetes/client-node';
import { startNodeInformer } from '../bench/fleet/informer-peers.ts';
import { startHttpProxy } from '../fixtures/proxies.ts';
import { until } from '../fixtures/until.ts';
import { lifetimeOf } from './fixture.ts';
import { kinds, startSpoke } from './spoke.ts';

const objects = 200;
const namespace = 'default';

test('a list of a server elsewhere takes a fraction of its bytes from Kubernetes 1.37 on, and the cache is the same', async (t) => {
  const life = lifetimeOf(t);
  const { plane, plugin } = await startSpoke(life, 'compression', kinds.token);
  const core = plane.admin.makeApiClient(CoreV1Api);
  const bodyOf = (index: number, line: string) => ({
    metadata: { name: `map-${index}` },
    data: { v: Array.from({ length: 100 }, (_, at) => `${line} ${index * at}`).join('\n') },
  });
  for (let index = 0; index < objects; index++) {
    await core.createNamespacedConfigMap({ namespace, body: bodyOf(index, 'setting') });
  }

  // A name of the server's certificate that is not loopback's: the proxy finds it.
  const server = plane.server.replace('127.0.0.1', 'kubernetes.default.svc');
  const { certificateAuthorityData } = plane;
  const start = async (plain: boolean) => {
    const proxy = await startHttpProxy(t);
    const cluster = { 'proxy-url': proxy.url, 'disable-compression': plain };
    const target = { server, certificateAuthorityData, command: plugin.command, namespace, cluster };
    const informer = startNodeInformer('ours', target);
    life.after(() => informer.close());
    await informer.synced;
    return { informer, bytes: proxy.received() };
  };
  const [plain, gzip] = [await start(true), await start(false)];
  const { minor } = await plane.admin.makeApiClient(VersionApi).getCode();
  const ratio = gzip.bytes / plain.bytes;
  t.diagnostic(`Kubernetes 1.${minor}: ${gzip.bytes} bytes with gzip, ${plain.bytes} without`);
  if (Number.parseInt(minor, 10) >= 37) assert.ok(ratio < 0.5, String(ratio));
  else assert.ok(ratio > 0.9 && ratio < 1.1, String(ratio));

  // The watch that follows the list.
  const { metadata } = await core.replaceNamespacedConfigMap({
    namespace,
    name: 'map-7',
    body: bodyOf(7, 'another setting'),
  });
  for (const { informer } of [plain, gzip]) {
    const version = async () => (await informer.dump())['default/map-7']?.split(' ')[0];
    await until(t, async () => (await version()) === metadata?.resourceVersion);
  }
  const cached = await gzip.informer.dump();
  assert.equal(Object.keys(cached).length, objects);
  assert.deepEqual(cached, await plain.informer.dump());
});
