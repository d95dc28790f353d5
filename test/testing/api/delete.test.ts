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
      [{ propagationPolicy: 'Foreground' }, 501],
      [{ propagationPolicy: 'Orphan' }, 501],
      [{ dryRun: ['Some'] }, 400],
      [{ gracePeriodSeconds: 'soon' }, 400],
      [{ kind: 'ConfigMap', apiVersion: 'v1' }, 400],
    ] as const;
    for (const [options, code] of wrong) assert.equal((await send('DELETE', `${configMaps}/a`, options)).code, code);
    assert.equal((await send('DELETE', `${configMaps}/a?dryRun=Some`)).code, 400);
    assert.equal((await send('GET', `${configMaps}/a`)).code, 200);
  });

  test('and every other write as a dry run answers as if it were done, and changes nothing', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add({ ...configMap('a'), data: { x: '1' } });
    const before = cluster.list({ apiVersion: 'v1', kind: 'ConfigMap' });
    const dry = 'dryRun=All';
    const merge = { 'content-type': 'application/merge-patch+json' };
    for (const [method, path, body, headers, code] of [
      ['POST', `${configMaps}?${dry}`, configMap('b'), {}, 201],
      ['PUT', `${configMaps}/a?${dry}`, { ...configMap('a'), data: { x: '2' } }, {}, 200],
      ['PATCH', `${configMaps}/a?${dry}`, { data: { x: '2' } }, merge, 200],
      ['DELETE', `${configMaps}/a?${dry}`, undefined, {}, 200],
      ['DELETE', `${configMaps}/a`, { dryRun: ['All'] }, {}, 200],
      ['DELETE', `${configMaps}?${dry}`, undefined, {}, 200],
    ] as const) {
      const answer = await send(method, path, body, headers);
      assert.equal(answer.code, code, `${method} ${path}`);
      if (method === 'PATCH') assert.equal(answer.body.data.x, '2');
    }
    assert.deepEqual(cluster.list({ apiVersion: 'v1', kind: 'ConfigMap' }), before);
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

describe('a namespace that is deleted', () => {
  const namespaces = '/api/v1/namespaces';
  const merge = { 'content-type': 'application/merge-patch+json' };
  const held = (name: string) => ({ metadata: { name, finalizers: ['example.com/x'] } });

  test('stays while something is in it, whatever is written to it, and takes nothing new', async (t) => {
    const { send } = await startApi(t);
    await send('POST', namespaces, { metadata: { name: 'n' } });
    await send('POST', `${namespaces}/n/configmaps`, { metadata: { name: 'free' } });
    await send('POST', `${namespaces}/n/configmaps`, held('a'));
    assert.equal((await send('DELETE', `${namespaces}/n`)).body.status.phase, 'Terminating');
    assert.equal((await send('GET', `${namespaces}/n/configmaps/free`)).code, 404);
    for (const [path, body] of [
      [`${namespaces}/n`, { metadata: { labels: { a: 'b' } } }],
      [`${namespaces}/n`, { metadata: { finalizers: ['example.com/y'] } }],
      [`${namespaces}/n/status`, { status: { conditions: [] } }],
    ] as const) {
      await send('PATCH', path, body, merge);
      const { code, body: there } = await send('GET', `${namespaces}/n`);
      assert.deepEqual([code, there.status.phase], [200, 'Terminating']);
    }
    assert.equal((await send('POST', `${namespaces}/n/configmaps`, { metadata: { name: 'x' } })).code, 403);
    await send('PATCH', `${namespaces}/n/configmaps/a`, { metadata: { finalizers: null } }, merge);
    assert.equal((await send('GET', `${namespaces}/n`)).code, 404);
  });

  test('stays for its own finalizers once it is empty', async (t) => {
    const { send } = await startApi(t);
    await send('POST', namespaces, held('n'));
    await send('DELETE', `${namespaces}/n`);
    const { body } = await send('GET', `${namespaces}/n`);
    assert.equal(body.status.phase, 'Terminating');
    await send('PATCH', `${namespaces}/n`, { metadata: { finalizers: null } }, merge);
    assert.equal((await send('GET', `${namespaces}/n`)).code, 404);
  });

  test('is none of those that nobody may delete', async (t) => {
    const { cluster, send } = await startApi(t);
    for (const name of ['default', 'kube-system']) {
      assert.equal((await send('DELETE', `${namespaces}/${name}`)).code, 403);
    }
    cluster.delete({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system' } });
    assert.equal((await send('GET', `${namespaces}/kube-system`)).code, 404, 'but a test may');
  });
});
