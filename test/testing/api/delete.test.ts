import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { configMap, configMaps, labelled, startApi } from '../../fixtures/api.ts';

describe('a DELETE', () => {
  test('takes an object away, once', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add(configMap('a'));
    const uid = cluster.get(configMap('a'))?.metadata.uid;
    const { code, body } = await send('DELETE', `${configMaps}/a`);
    assert.deepEqual([code, body.status, body.details], [200, 'Success', { name: 'a', kind: 'configmaps', uid }]);
    const again = await send('DELETE', `${configMaps}/a`);
    assert.deepEqual([again.code, again.body.reason], [404, 'NotFound']);
  });

  test('answers with the object where Kubernetes does', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 's' } });
    const { body } = await send('DELETE', '/api/v1/namespaces/default/serviceaccounts/s');
    assert.deepEqual([body.kind, body.metadata.name], ['ServiceAccount', 's']);
  });

  test('only marks what a finalizer holds, until the last one goes', async (t) => {
    const { send } = await startApi(t);
    const path = `${configMaps}/a`;
    await send('POST', configMaps, configMap('a', { metadata: { name: 'a', finalizers: ['example.com/x'] } }));
    const { body } = await send('DELETE', path);
    assert.equal(typeof body.metadata.deletionTimestamp, 'string');
    const again = await send('DELETE', path);
    assert.deepEqual([again.code, again.body.metadata.resourceVersion], [200, body.metadata.resourceVersion]);
    const more = await send('PUT', path, {
      ...body,
      metadata: { ...body.metadata, finalizers: ['example.com/x', 'example.com/y'] },
    });
    assert.deepEqual([more.code, more.body.details.causes[0].field], [422, 'metadata.finalizers']);
    const taken = await send('POST', configMaps, configMap('a'));
    assert.match(taken.body.message, /^object is being deleted: /);
    const { deletionTimestamp: _, ...metadata } = body.metadata;
    const kept = await send('PUT', path, { ...body, metadata });
    assert.equal(kept.body.metadata.deletionTimestamp, body.metadata.deletionTimestamp);
    const last = await send('PUT', path, { ...body, metadata: { ...body.metadata, finalizers: [] } });
    assert.deepEqual([last.code, last.body.metadata.finalizers], [200, undefined]);
    assert.equal((await send('GET', path)).code, 404);
  });

  test('has preconditions', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add(configMap('a'));
    const { uid, resourceVersion } = (await send('GET', `${configMaps}/a`)).body.metadata;
    const remove = (preconditions: object) => send('DELETE', `${configMaps}/a`, { preconditions });
    for (const preconditions of [{ uid: 'other' }, { uid, resourceVersion: '1' }]) {
      const { code, body } = await remove(preconditions);
      assert.deepEqual([code, body.reason], [409, 'Conflict']);
    }
    assert.equal((await remove({ uid, resourceVersion })).code, 200);
  });

  test('with options that are wrong deletes nothing', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add(configMap('a'));
    const wrong = [
      [{ propagationPolicy: 'Sometimes' }, 422],
      [{ propagationPolicy: 'Background', orphanDependents: true }, 422],
      [{ dryRun: ['Some'] }, 422],
      [{ gracePeriodSeconds: 'soon' }, 400],
      [{ kind: 'ConfigMap', apiVersion: 'v1' }, 400],
    ] as const;
    for (const [options, code] of wrong) assert.equal((await send('DELETE', `${configMaps}/a`, options)).code, code);
    assert.equal((await send('DELETE', `${configMaps}/a?dryRun=All`)).code, 200);
    assert.equal((await send('GET', `${configMaps}/a`)).code, 200);
  });

  test('of a collection deletes what is selected', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add([labelled('a', { x: '1' }), labelled('b', { x: '2' }), labelled('c', { x: '1' })]);
    const { code, body } = await send('DELETE', `${configMaps}?labelSelector=x%3D1`);
    assert.deepEqual([code, body.kind, body.items.length], [200, 'ConfigMapList', 2]);
    assert.deepEqual(
      cluster.list({ apiVersion: 'v1', kind: 'ConfigMap' }).map(({ metadata }) => metadata.name),
      ['b'],
    );
    assert.equal((await send('DELETE', '/api/v1/namespaces')).code, 405);
    assert.equal((await send('DELETE', '/api/v1/configmaps')).code, 405);
  });
});
