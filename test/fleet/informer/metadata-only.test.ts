import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ConfigMap, configMaps, map, startEngaged } from '../../fixtures/controllers.ts';
import { startInformers } from '../../fixtures/informers.ts';
import { until } from '../../fixtures/until.ts';

const metadataOnly = true;
const full = (name: string, v: string) => ({ ...map(name, { labels: { v } }), data: { v } });

describe('an informer of metadata only', () => {
  for (const [how, isRefused] of [
    ['a streaming list', false],
    ['pages', true],
  ] as const) {
    test(`asks for metadata, and has nothing else, from ${how} and a watch`, async (t) => {
      const { cluster, engaged } = await startEngaged(t);
      cluster.add(full('a', '1'));
      if (isRefused) cluster.failNext(422, 1, ({ url }) => url.includes('sendInitialEvents'));
      const accepted: string[] = [];
      cluster.onRequest = ({ url, headers }) => {
        if (!url.includes('/configmaps?')) return;
        const what = /sendInitialEvents|watch|limit/.exec(url)?.[0];
        accepted.push(`${what} ${headers.accept}`);
      };
      const maps = engaged.informer<ConfigMap>({ ...configMaps, metadataOnly });
      await maps.synced();
      const cached = () => {
        const { metadata, ...rest } = maps.get('a', 'default') ?? assert.fail('it is not there');
        return [metadata.labels?.v, rest];
      };
      assert.deepEqual(cached(), ['1', { apiVersion: 'v1', kind: 'ConfigMap' }]);
      cluster.set(full('a', '2'));
      await until(t, () => maps.get('a', 'default')?.metadata.labels?.v === '2');
      assert.deepEqual(cached(), ['2', { apiVersion: 'v1', kind: 'ConfigMap' }]);
      const form = (kind: string) => `application/json;as=${kind};g=meta.k8s.io;v=v1`;
      const [one, list] = [form('PartialObjectMetadata'), form('PartialObjectMetadataList')];
      const expected = isRefused ? [`watch ${one}`, `limit ${list}`, `watch ${one}`] : [`watch ${one}`];
      assert.deepEqual(accepted, expected);
    });
  }

  test('drops what a server sends without being asked', async (t) => {
    const { server, informer } = await startInformers(t);
    server.apply({ metadata: { name: 'a' }, data: { v: '1' } });
    const maps = informer({ metadataOnly });
    await maps.synced();
    const { metadata, ...rest } = maps.get('a', 'default') ?? assert.fail('it is not there');
    assert.deepEqual([metadata.name, rest], ['a', { apiVersion: 'v1', kind: 'ConfigMap' }]);
  });
});
