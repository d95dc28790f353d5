// What each operation makes of an object is compared with the API server's own code: test/e2e/patches.ts.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type Body, configMap, configMaps, startApi } from '../../fixtures/api.ts';

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
    assert.equal((await send('PATCH', `${configMaps}/a?fieldManager=me`, '{', apply)).code, 400);
  });

  /** Applies to the ConfigMap `a`: what it holds then, and who manages which field, or why not. */
  async function startApplied(t: TestContext) {
    const { cluster, send } = await startApi(t);
    const by = async (manager: string, content: object, query = '') => {
      const path = `${configMaps}/a?fieldManager=${manager}${query}`;
      const { code, body } = await send('PATCH', path, configMap('a', content), apply);
      return code === 200 || code === 201 ? body.data : [code, body.reason, body.message, body.details.causes];
    };
    const managers = () => {
      const { managedFields }: Body = cluster.get(configMap('a'))?.metadata ?? {};
      const fields = ({ manager, operation, fieldsV1 }: Body) => [
        `${manager} ${operation}`,
        Object.keys(fieldsV1['f:data'] ?? {}),
      ];
      return Object.fromEntries(managedFields.map(fields));
    };
    return { cluster, send, by, managers };
  }

  test('takes away what its manager does not apply any more, unless another one does', async (t) => {
    const { by, managers } = await startApplied(t);
    await by('one', { data: { x: '1', y: '1', z: '1' } });
    assert.deepEqual(await by('two', { data: { y: '1' } }), { x: '1', y: '1', z: '1' });
    assert.deepEqual(await by('one', { data: { x: '1' } }), { x: '1', y: '1' });
    assert.deepEqual(managers(), { 'one Apply': ['f:x'], 'two Apply': ['f:y'] });
    assert.equal(await by('one', {}).then(() => by('two', {})), undefined);
  });

  test('refuses to change a field of another manager, names both, and takes it by force', async (t) => {
    const { send, by, managers } = await startApplied(t);
    await by('one', { data: { x: '1', y: '1' } });
    await send('PATCH', `${configMaps}/a?fieldManager=three`, { data: { z: '1' } }, as('merge-patch+json'));
    const [code, reason, message, causes] = await by('two', { data: { x: '2', y: '1', z: '2' } });
    assert.deepEqual([code, reason], [409, 'Conflict']);
    assert.equal(
      message,
      'Apply failed with 2 conflicts: conflicts with "one":\n- .data.x\nconflicts with "three" using v1:\n- .data.z',
    );
    assert.deepEqual(causes, [
      { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.x' },
      { reason: 'FieldManagerConflict', message: 'conflict with "three" using v1', field: '.data.z' },
    ]);
    assert.deepEqual(await by('two', { data: { x: '2' } }, '&force=true'), { x: '2', y: '1', z: '1' });
    assert.deepEqual(managers(), { 'one Apply': ['f:y'], 'two Apply': ['f:x'], 'three Update': ['f:z'] });
  });

  test('that changes nothing is no change', async (t) => {
    const { cluster, by } = await startApplied(t);
    await by('one', { data: { x: '1' } });
    const before = cluster.get(configMap('a'));
    await by('one', { data: { x: '1' } });
    assert.deepEqual(cluster.get(configMap('a')), before);
  });

  test('takes what a test has added for fields of a manager before the first apply', async (t) => {
    const { cluster, by, managers } = await startApplied(t);
    cluster.add(configMap('a', { data: { x: '0' } }));
    const [, , message] = await by('one', { data: { x: '1' } });
    assert.equal(message, 'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.x');
    await by('one', { data: { x: '1' } }, '&force=true');
    cluster.set(configMap('a', { data: { x: '2', y: '2' } }));
    assert.deepEqual(managers(), { 'FakeCluster Update': ['f:x', 'f:y'] });
  });

  test('merges lists whose items have keys: those of built-in kinds, and what a definition says', async (t) => {
    const { cluster, send } = await startApi(t);
    const condition = (type: string) => ({ type, status: 'True' });
    const paths = {
      Deployment: '/apis/apps/v1/namespaces/default/deployments/a',
      ClusterProfile: '/apis/multicluster.x-k8s.io/v1alpha1/namespaces/default/clusterprofiles/a',
    };
    for (const [kind, path] of Object.entries(paths)) {
      const [, , group, version] = path.split('/');
      const object = { apiVersion: `${group}/${version}`, kind, metadata: { name: 'a' } };
      cluster.add(object);
      for (const manager of ['one', 'two']) {
        const conditions = [condition('Shared'), condition(manager)];
        await send('PATCH', `${path}/status?fieldManager=${manager}`, { ...object, status: { conditions } }, apply);
      }
      const all = ['Shared', 'one', 'two'].map(condition);
      assert.deepEqual(cluster.get(object)?.status, { conditions: all }, kind);
      await send('PATCH', `${path}/status?fieldManager=one`, { ...object, status: {} }, apply);
      assert.deepEqual(cluster.get(object)?.status, { conditions: ['Shared', 'two'].map(condition) }, kind);
    }
  });
});
