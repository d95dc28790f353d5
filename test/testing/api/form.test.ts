import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { configMap, configMaps, startApi } from '../../fixtures/api.ts';

const as = (kind: string, more = '') => ({ accept: `application/json;as=${kind};g=meta.k8s.io;v=v1${more}` });
const one = as('PartialObjectMetadata');
const list = as('PartialObjectMetadataList');
const apiVersion = 'meta.k8s.io/v1';

describe('metadata alone', () => {
  test('is what a get and a list that ask for it have', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add(configMap('a', { data: { x: '1' } }));
    const whole = (await send('GET', configMaps)).body;
    const { metadata } = whole.items[0];
    const object = { kind: 'PartialObjectMetadata', apiVersion, metadata };
    assert.deepEqual((await send('GET', `${configMaps}/a`, undefined, one)).body, object);
    const items = [object];
    const expected = { kind: 'PartialObjectMetadataList', apiVersion, metadata: whole.metadata, items };
    assert.deepEqual((await send('GET', configMaps, undefined, list)).body, expected);
    const preferred = as('Table', `, ${one.accept}`);
    assert.deepEqual((await send('GET', `${configMaps}/a`, undefined, preferred)).body, object);
  });

  test('is what a watch that asks for it has, bookmarks included', async (t) => {
    const { cluster, watch } = await startApi(t);
    cluster.add(configMap('a', { data: { x: '1' } }));
    const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const { next } = await watch(`${configMaps}?${query}`, one);
    const added = await next();
    assert.deepEqual(added?.object, { kind: 'PartialObjectMetadata', apiVersion, metadata: added?.object.metadata });
    assert.equal(added?.object.metadata.name, 'a');
    const { type, object } = (await next()) ?? assert.fail();
    assert.deepEqual([type, object.kind, object.apiVersion], ['BOOKMARK', 'PartialObjectMetadata', apiVersion]);
    assert.equal(object.metadata.annotations['k8s.io/initial-events-end'], 'true');
    cluster.delete({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } });
    const deleted = await next();
    assert.deepEqual([deleted?.type, Object.keys(deleted?.object)], ['DELETED', ['kind', 'apiVersion', 'metadata']]);
  });

  test('of a list as an object, or the other way round, is a 406; a refusal is a Status as ever', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add(configMap('a'));
    for (const [path, headers] of [
      [configMaps, one],
      [`${configMaps}/a`, list],
      [`${configMaps}?watch=true`, list],
    ] as const) {
      const { code, body } = await send('GET', path, undefined, headers);
      assert.deepEqual([code, body.kind, body.reason], [406, 'Status', 'NotAcceptable'], path);
    }
    const { code, body } = await send('GET', `${configMaps}/none`, undefined, one);
    assert.deepEqual([code, body.kind], [404, 'Status']);
    const old = { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1' };
    assert.equal((await send('GET', `${configMaps}/a`, undefined, old)).code, 501);
  });
});
