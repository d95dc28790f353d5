import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { configMap, configMaps, startApi } from '../../fixtures/api.ts';

const merge = { 'content-type': 'application/merge-patch+json' };
const apply = { 'content-type': 'application/apply-patch+yaml' };
const core = (plural: string) => `/api/v1/namespaces/default/${plural}`;
const deployments = '/apis/apps/v1/namespaces/default/deployments';
const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
const policies = '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies';

describe('the generation', () => {
  for (const [path, content, patch, generation] of [
    [deployments, { spec: {} }, { metadata: { annotations: { a: 'b' } } }, 2],
    [deployments, { spec: {} }, { metadata: { labels: { a: 'b' } } }, 1],
    [deployments, { spec: {} }, { spec: { paused: true } }, 2],
    [deployments, { spec: {} }, { status: { replicas: 3 } }, 1],
    [slices, { endpoints: [] }, { metadata: { labels: { a: 'b' } } }, 2],
    [slices, { endpoints: [] }, { metadata: { annotations: { a: 'b' } } }, 1],
    [slices, { endpoints: [] }, { status: { x: 1 } }, 1],
    [policies, { spec: {} }, { status: { x: 1 } }, 1],
    [policies, { spec: {} }, { spec: { policyTypes: ['Egress'] } }, 2],
    [core('podtemplates'), { template: {} }, { spec: { x: 1 } }, 1],
    [core('configmaps'), {}, { data: { a: '1' } }, undefined],
  ] as const) {
    test(`of one of the ${path.split('/').at(-1)} is ${generation} after ${JSON.stringify(patch)}`, async (t) => {
      const { send } = await startApi(t);
      await send('POST', path, { metadata: { name: 'x' }, ...content });
      const { code, body } = await send('PATCH', `${path}/x`, patch, merge);
      assert.deepEqual([code, body.metadata.generation], [200, generation]);
    });
  }

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
    cluster.set(deployment({ annotations: { a: 'b' } }));
    assert.equal(cluster.get(deployment({}))?.metadata.generation, 2);
  });
});

describe('a field that Kubernetes does not know', () => {
  test('is dropped from a built-in kind and from metadata, and kept in a custom resource', async (t) => {
    const { send } = await startApi(t);
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', more: 1 };
    const metadata = { name: 'x', more: 'x', labels: { empty: null }, ownerReferences: [owner] };
    const { body } = await send('POST', configMaps, { metadata, dat: { a: '1' }, data: { a: '1' } });
    assert.deepEqual(Object.keys(body).toSorted(), ['apiVersion', 'data', 'kind', 'metadata']);
    assert.deepEqual([body.metadata.more, body.metadata.labels], [undefined, { empty: '' }]);
    assert.deepEqual(body.metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' }]);
    const profiles = '/apis/multicluster.x-k8s.io/v1alpha1/namespaces/default/clusterprofiles';
    const profile = { apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile', metadata, more: 1 };
    const { body: custom } = await send('POST', profiles, profile);
    assert.deepEqual([custom.more, custom.metadata.more], [1, undefined]);
  });
});

describe('an object that its kind does not allow', () => {
  const lab = (finalizers: readonly string[]) => ({ name: 'x', finalizers });
  const secret = (type: string, data: object = {}) => ({ metadata: { name: 'x' }, type, data });
  const large = 'x'.repeat(1024 * 1024 + 1);
  for (const [what, path, object, code, field] of [
    [
      'a finalizer of one word',
      configMaps,
      { metadata: lab(['example.com/a', 'cleanup']) },
      422,
      'metadata.finalizers[1]',
    ],
    ["a finalizer of Kubernetes' own", configMaps, { metadata: lab(['orphan']) }, 201, undefined],
    [
      'an Event as its owner',
      configMaps,
      { metadata: { name: 'x', ownerReferences: [{ apiVersion: 'v1', kind: 'Event', name: 'e', uid: 'u' }] } },
      422,
      'metadata.ownerReferences',
    ],
    ['a long field manager', `${configMaps}?fieldManager=${'x'.repeat(129)}`, configMap('x'), 422, 'fieldManager'],
    ['an odd field manager', `${configMaps}?fieldManager=a%00`, configMap('x'), 422, 'fieldManager'],
    ['data that is a number', configMaps, configMap('x', { data: { a: 1 } }), 400, undefined],
    ['data that is a list', configMaps, configMap('x', { data: ['a'] }), 400, undefined],
    ['a key with a slash', configMaps, configMap('x', { data: { 'a/b': '1' } }), 422, 'data[a/b]'],
    ['a key that climbs', configMaps, configMap('x', { data: { '..a': '1' } }), 422, 'data[..a]'],
    ['a key in both', configMaps, configMap('x', { data: { a: '1' }, binaryData: { a: 'MQ==' } }), 422, 'data[a]'],
    ['binary data that is none', configMaps, configMap('x', { binaryData: { a: '?' } }), 400, undefined],
    ['data of a mebibyte', configMaps, configMap('x', { data: { a: large.slice(1) } }), 201, undefined],
    ['data of more than a mebibyte', configMaps, configMap('x', { data: { a: large } }), 422, '[]'],
    [
      'a Secret of more than a mebibyte',
      core('secrets'),
      { metadata: { name: 'x' }, stringData: { a: large } },
      422,
      'data',
    ],
    ['a Secret with a bad key', core('secrets'), secret('Opaque', { 'a b': 'MQ==' }), 422, 'data[a b]'],
    [
      'a certificate without a key',
      core('secrets'),
      secret('kubernetes.io/tls', { 'tls.crt': 'MQ==' }),
      422,
      'data[tls.key]',
    ],
    [
      'a token of no account',
      core('secrets'),
      secret('kubernetes.io/service-account-token'),
      422,
      'metadata.annotations[kubernetes.io/service-account.name]',
    ],
    ['a login without a name', core('secrets'), secret('kubernetes.io/basic-auth'), 422, 'data[username]'],
    [
      'a docker config that is no JSON',
      core('secrets'),
      secret('kubernetes.io/dockerconfigjson', { '.dockerconfigjson': 'MQ==' }),
      422,
      'data[.dockerconfigjson]',
    ],
    [
      'an event about another namespace',
      core('events'),
      { metadata: { name: 'x' }, involvedObject: { namespace: 'other' } },
      422,
      'involvedObject.namespace',
    ],
    [
      'an event about a node',
      core('events'),
      { metadata: { name: 'x' }, involvedObject: { kind: 'Node' } },
      201,
      undefined,
    ],
  ] as const) {
    test(`because of ${what} is answered with ${code}`, async (t) => {
      const { send } = await startApi(t);
      const { code: answered, body } = await send('POST', path, object);
      assert.deepEqual([answered, body.details?.causes?.[0].field], [code, field]);
    });
  }

  test('is none for a finalizer of one word where Kubernetes does not look at it', async (t) => {
    const { send } = await startApi(t);
    const metadata = { name: 'x', finalizers: ['cleanup'] };
    const runtimes = '/apis/node.k8s.io/v1/runtimeclasses';
    const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    const webhooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
    const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
    for (const path of [runtimes, leases, webhooks, budgets, core('events')]) {
      assert.equal((await send('POST', path, { metadata, involvedObject: {} })).code, 201, path);
    }
    for (const path of [core('pods'), deployments, policies]) {
      assert.equal((await send('POST', path, { metadata })).code, 422, path);
    }
  });

  test('cannot be made by a patch either', async (t) => {
    const { send } = await startApi(t);
    await send('POST', configMaps, configMap('x'));
    for (const patch of [{ metadata: { finalizers: ['cleanup'] } }, { data: { a: large } }]) {
      assert.equal((await send('PATCH', `${configMaps}/x`, patch, merge)).code, 422);
    }
    const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'a' };
    await send('POST', bindings, { metadata: { name: 'x' }, roleRef });
    assert.equal((await send('PATCH', `${bindings}/x`, { roleRef: { ...roleRef, name: 'b' } }, merge)).code, 422);
    const status = await send(
      'PATCH',
      '/api/v1/namespaces/default/status',
      { status: { phase: 'Terminating' } },
      merge,
    );
    assert.deepEqual([status.code, status.body.details.causes[0].field], [422, 'status.Phase']);
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

describe('a status', () => {
  test('has the numbers that Kubernetes always writes', async (t) => {
    const { send } = await startApi(t);
    for (const [path, zeros] of [
      ['/apis/apps/v1/namespaces/default/replicasets', { replicas: 0 }],
      ['/apis/apps/v1/namespaces/default/statefulsets', { replicas: 0, availableReplicas: 0 }],
      [
        '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
        { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
      ],
      [core('replicationcontrollers'), { replicas: 0 }],
    ] as const) {
      assert.deepEqual((await send('POST', path, { metadata: { name: 'x' } })).body.status, zeros);
      const { body } = await send('PATCH', `${path}/x/status`, { status: { observedGeneration: 1 } }, merge);
      assert.deepEqual(body.status, { ...zeros, observedGeneration: 1 });
    }
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
