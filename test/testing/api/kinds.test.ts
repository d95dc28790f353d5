import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { configMap, configMaps, startApi } from '../../fixtures/api.ts';

const merge = { 'content-type': 'application/merge-patch+json' };
const apply = { 'content-type': 'application/apply-patch+yaml' };

describe('the generation', () => {
  // Those of each kind are compared with a real API server's: test/e2e/fake/scenarios.ts.
  test('of what a test sets counts by the same rule', async (t) => {
    const { cluster } = await startApi(t);
    const deployment = (metadata: object, more: object = {}) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'd', ...metadata },
      spec: {},
      ...more,
    });
    cluster.add(deployment({}));
    cluster.set(deployment({}, { status: { replicas: 2 } }));
    assert.equal(cluster.get(deployment({}))?.metadata.generation, 1);
    cluster.set(deployment({}, { spec: { paused: true } }));
    assert.equal(cluster.get(deployment({}))?.metadata.generation, 2);
  });
});

describe('a field that Kubernetes does not know', () => {
  test('is dropped from metadata', async (t) => {
    const { send } = await startApi(t);
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', more: 1 };
    const metadata = { name: 'x', more: 'x', labels: { empty: null }, ownerReferences: [owner] };
    const { body } = await send('POST', configMaps, { metadata });
    assert.deepEqual([body.metadata.more, body.metadata.labels], [undefined, { empty: '' }]);
    assert.deepEqual(body.metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' }]);
  });
});

describe('an object that its kind does not allow', () => {
  const lab = (finalizers: readonly string[]) => ({ name: 'x', finalizers });
  for (const [what, path, object, code, field] of [
    [
      'a finalizer of one word',
      configMaps,
      { metadata: lab(['example.com/a', 'cleanup']) },
      422,
      'metadata.finalizers[1]',
    ],
    ["a finalizer of Kubernetes' own", configMaps, { metadata: lab(['orphan']) }, 201, undefined],
    ['data that is a number', configMaps, configMap('x', { data: { a: 1 } }), 400, undefined],
  ] as const) {
    test(`because of ${what} is answered with ${code}`, async (t) => {
      const { send } = await startApi(t);
      const { code: answered, body } = await send('POST', path, object);
      assert.deepEqual([answered, body.details?.causes?.[0].field], [code, field]);
    });
  }

  test('cannot be made by a patch either', async (t) => {
    const { send } = await startApi(t);
    await send('POST', configMaps, configMap('x'));
    const patch = { metadata: { finalizers: ['cleanup'] } };
    assert.equal((await send('PATCH', `${configMaps}/x`, patch, merge)).code, 422);
  });

  test('cannot be applied without its kind, or with what only the server writes', async (t) => {
    const { send } = await startApi(t);
    const path = `${configMaps}/x?fieldManager=me`;
    const kind = { apiVersion: 'v1', kind: 'ConfigMap' };
    assert.equal((await send('PATCH', path, {}, apply)).code, 400);
    assert.equal((await send('PATCH', path, { ...kind, metadata: { managedFields: [] } }, apply)).code, 400);
    assert.equal((await send('PATCH', path, { ...kind, metadata: { uid: 'u' } }, apply)).code, 409);
    assert.equal((await send('PATCH', path, kind, apply)).code, 201);
  });
});

describe('a kind of another version', () => {
  test('is answered with 501 where Kubernetes has it', async (t) => {
    const { send } = await startApi(t);
    const { code, body } = await send('GET', '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers');
    assert.equal(code, 501);
    assert.match(body.message, /served as v2 only/);
    const runtimes = '/apis/node.k8s.io/v1/runtimeclasses';
    assert.equal((await send('PUT', `${runtimes}/r`, { metadata: { name: 'r' }, handler: 'x' })).code, 201);
  });
});
