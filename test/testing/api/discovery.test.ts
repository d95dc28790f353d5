import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Body, configMap, configMaps, startApi } from '../../fixtures/api.ts';

// That each resource is described as a real API server describes it is in test/e2e/fake/discovery.ts.
describe('discovery', () => {
  test('lists the groups, and the kinds of each version', async (t) => {
    const { send } = await startApi(t);
    assert.deepEqual((await send('GET', '/api')).body.versions, ['v1']);
    const { body: groups } = await send('GET', '/apis');
    const apps = { groupVersion: 'apps/v1', version: 'v1' };
    assert.deepEqual(
      groups.groups.find(({ name }: Body) => name === 'apps'),
      { name: 'apps', versions: [apps], preferredVersion: apps },
    );
    assert.equal((await send('GET', '/apis/apps')).body.kind, 'APIGroup');
    const { body: core } = await send('GET', '/api/v1');
    const names = core.resources.map(({ name }: Body) => name);
    for (const name of ['pods', 'pods/status', 'configmaps', 'namespaces', 'serviceaccounts/token', 'services']) {
      assert.ok(names.includes(name), name);
    }
    const { body: multicluster } = await send('GET', '/apis/multicluster.x-k8s.io/v1alpha1');
    const kinds = multicluster.resources.map(({ name }: Body) => name);
    assert.deepEqual(kinds, ['clusterprofiles', 'clusterprofiles/status', 'placementdecisions']);
    for (const path of ['/apis/none', '/apis/apps/v2', '/api/v2'])
      assert.equal((await send('GET', path)).code, 404, path);
  });

  test('is of every kind that can be listed', async (t) => {
    const { send } = await startApi(t);
    const versions = [
      '/api/v1',
      ...(await send('GET', '/apis')).body.groups.flatMap(({ versions }: Body) =>
        versions.map(({ groupVersion }: Body) => `/apis/${groupVersion}`),
      ),
    ];
    let listed = 0;
    for (const version of versions) {
      for (const { name, verbs, kind } of (await send('GET', version)).body.resources) {
        if (!verbs.includes('list')) continue;
        const { code, body } = await send('GET', `${version}/${name}`);
        assert.deepEqual([code, body.kind, body.apiVersion], [200, `${kind}List`, version.replace(/^\/apis?\//, '')]);
        listed += 1;
      }
    }
    assert.ok(listed > 50, `${listed} kinds`);
  });

  test('says which server it is, and that it is well', async (t) => {
    const { send } = await startApi(t, { name: 'west' });
    assert.equal((await send('GET', '/version')).body.gitVersion, 'v1.36.0+west');
    for (const path of ['/healthz', '/livez', '/readyz']) assert.equal((await send('GET', path)).body, 'ok');
  });
});

describe('what this API server does not do', () => {
  const notDone = [
    ['GET', '/api/v1/namespaces/default/pods/p/log'],
    ['PUT', '/api/v1/namespaces/default/finalize'],
    ['POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'],
    ['POST', '/apis/authentication.k8s.io/v1/tokenreviews'],
    ['DELETE', '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers/h'],
  ] as const;

  test('is a 501 that says so, never a 200', async (t) => {
    const { send } = await startApi(t);
    for (const [method, path] of notDone) {
      const { code, body } = await send(method, path, method === 'GET' ? undefined : {});
      assert.deepEqual([code, body.reason], [501, 'NotImplemented'], path);
      assert.match(body.message, /^FakeCluster does not do this: /);
    }
    for (const accept of ['application/vnd.kubernetes.protobuf', 'application/json;as=Table;g=meta.k8s.io;v=v1']) {
      assert.equal((await send('GET', configMaps, undefined, { accept })).code, 501, accept);
      const { code } = await send('GET', configMaps, undefined, { accept: `${accept}, application/json` });
      assert.equal(code, 200, 'JSON is accepted too');
    }
  });

  test('nor a patch of keyed lists, or a policy of deletes', async (t) => {
    const { cluster, send } = await startApi(t);
    const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd', labels: { a: '1' } } };
    cluster.add([{ ...deployment, spec: { template: { spec: { containers: [{ name: 'a' }] } } } }, configMap('a')]);
    const path = '/apis/apps/v1/namespaces/default/deployments/d';
    const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
    for (const [method, where, body, headers] of [
      ['PATCH', path, { spec: { template: { spec: { containers: [{ name: 'a', image: 'x' }] } } } }, strategic],
      ['PATCH', path, { metadata: { '$setElementOrder/finalizers': 'x' } }, strategic],
      ...['Foreground', 'Orphan'].map(
        (policy) => ['DELETE', `${configMaps}/a`, { propagationPolicy: policy }, {}] as const,
      ),
    ] as const) {
      const { code, body: told } = await send(method, where, body, headers);
      assert.deepEqual([code, told.reason], [501, 'NotImplemented'], `${method} ${where}`);
    }
    assert.equal(cluster.get(deployment)?.metadata.generation, 1);
    assert.ok(cluster.get(configMap('a')));
  });
});
