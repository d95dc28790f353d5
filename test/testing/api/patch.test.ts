// What each operation makes of an object is compared with the API server's own code: test/e2e/patches.ts.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { configMap, configMaps, startApi } from '../../fixtures/api.ts';

const as = (type: string) => ({ 'content-type': `application/${type}` });

describe('a JSON patch', () => {
  const data = { a: '1', 'b/c': '2' };
  const patches: readonly (readonly [what: string, patch: unknown, code: number, data?: object])[] = [
    ['remove', [{ op: 'remove', path: '/metadata/annotations/a' }], 200, { 'b/c': '2' }],
    [
      'test that fails',
      [
        { op: 'remove', path: '/metadata/annotations/a' },
        { op: 'test', path: '/metadata/annotations/b~1c', value: '3' },
      ],
      422,
    ],
    ['no list', { data: { a: '3' } }, 400],
    ['another name', [{ op: 'replace', path: '/metadata/name', value: 'b' }], 400],
    ['a version that was', [{ op: 'replace', path: '/metadata/resourceVersion', value: '1' }], 409],
  ];

  test('does what Kubernetes does with it', async (t) => {
    const { cluster, send } = await startApi(t);
    for (const [what, patch, code, expected] of patches) {
      cluster.set(configMap('a', { metadata: { name: 'a', annotations: data } }));
      const { body, ...answer } = await send('PATCH', `${configMaps}/a`, patch, as('json-patch+json'));
      assert.equal(answer.code, code, `${what}: ${JSON.stringify(body)}`);
      const { annotations: stored } = (await send('GET', `${configMaps}/a`)).body.metadata;
      assert.deepEqual(stored, expected ?? data, what);
    }
  });
});

describe('a merge patch', () => {
  test('is a conflict with a version that was, and an error without an object', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add(configMap('a'));
    const merge = (path: string, patch: unknown) => send('PATCH', path, patch, as('merge-patch+json'));
    assert.equal((await merge(`${configMaps}/a`, { metadata: { resourceVersion: '1' } })).code, 409);
    assert.equal((await merge(`${configMaps}/b`, {})).code, 404);
    assert.equal((await merge(`${configMaps}/a`, [])).code, 400);
    assert.equal((await merge(`${configMaps}/a`, '{')).code, 400);
  });
});

describe('a strategic merge patch', () => {
  test('is a merge patch where it has no lists and no directives, which are a 501', async (t) => {
    const { cluster, send } = await startApi(t);
    const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd', labels: { a: '1' } } };
    cluster.add({ ...deployment, spec: { replicas: 1, template: { spec: { containers: [{ name: 'a' }] } } } });
    const path = '/apis/apps/v1/namespaces/default/deployments/d';
    const patch = (body: object) => send('PATCH', path, body, as('strategic-merge-patch+json'));
    const { code, body } = await patch({ metadata: { labels: { a: null, b: '2' } }, spec: { replicas: 3 } });
    assert.deepEqual([code, body.metadata.labels, body.spec.replicas], [200, { b: '2' }, 3]);
    for (const refused of [
      { spec: { template: { spec: { containers: [{ name: 'a', image: 'x' }] } } } },
      { metadata: { '$setElementOrder/finalizers': 'x' } },
    ]) {
      const { code, body } = await patch(refused);
      assert.equal(code, 501);
      assert.match(body.message, /send a JSON patch or a merge patch/);
    }
    assert.equal(cluster.get(deployment)?.metadata.generation, 2);
  });
});

describe('a patch of another type', () => {
  test('is refused, and never taken for one of these', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add(configMap('a'));
    for (const type of ['json', 'x-www-form-urlencoded', 'apply-patch+cbor']) {
      const { code, body } = await send('PATCH', `${configMaps}/a`, { data: { x: '1' } }, as(type));
      assert.deepEqual([code, body.reason], [415, 'UnsupportedMediaType'], type);
    }
    const custom = '/apis/multicluster.x-k8s.io/v1alpha1/namespaces/default/clusterprofiles/p';
    assert.equal((await send('PATCH', custom, {}, as('strategic-merge-patch+json'))).code, 415);
    assert.equal(cluster.get(configMap('a'))?.data, undefined);
  });
});

describe('server-side apply', () => {
  const apply = { 'content-type': 'application/apply-patch+yaml' };
  const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: "1"\n';

  test('makes what is not there, from YAML, for a manager', async (t) => {
    const { send } = await startApi(t);
    const { code, body } = await send('PATCH', `${configMaps}/a?fieldManager=me`, yaml, apply);
    assert.deepEqual([code, body.data], [201, { x: '1' }]);
    assert.equal((await send('PATCH', `${configMaps}/b`, yaml, apply)).code, 422, 'a manager has to be named');
    assert.equal((await send('PATCH', `${configMaps}/b?fieldManager=me`, yaml, apply)).code, 400, 'another name');
    assert.equal((await send('PATCH', `${configMaps}/a?fieldManager=me`, '{', apply)).code, 501);
  });

  test('to what is there is refused: it would need to know who owns which field', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add(configMap('a', { data: { x: '0' } }));
    const { code, body } = await send('PATCH', `${configMaps}/a?fieldManager=me&force=true`, yaml, apply);
    assert.deepEqual([code, body.reason], [501, 'NotImplemented']);
    assert.deepEqual(cluster.get(configMap('a'))?.data, { x: '0' });
  });
});
