import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startApi } from '../../fixtures/api.ts';

describe('the scale', () => {
  test('shows and changes the replicas of a workload', async (t) => {
    const { cluster, send } = await startApi(t);
    const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd', namespace: 'default' } };
    cluster.add({ ...deployment, spec: { selector: { matchLabels: { b: '2', a: '1' } } }, status: { replicas: 4 } });
    const path = '/apis/apps/v1/namespaces/default/deployments/d/scale';
    const { body: scale } = await send('GET', path);
    assert.deepEqual(
      [scale.apiVersion, scale.kind, scale.spec, scale.status],
      ['autoscaling/v1', 'Scale', { replicas: 1 }, { replicas: 4, selector: 'a=1,b=2' }],
    );
    const { body: scaled } = await send('PUT', path, { ...scale, spec: { replicas: 3 } });
    assert.deepEqual(scaled.spec, { replicas: 3 });
    const merged = await send(
      'PATCH',
      path,
      { spec: { replicas: 5 } },
      { 'content-type': 'application/merge-patch+json' },
    );
    assert.deepEqual([merged.code, merged.body.spec], [200, { replicas: 5 }]);
    assert.equal((await send('PUT', path, { ...scale, spec: { replicas: 9 } })).code, 409);
    assert.equal((await send('PUT', path, { ...merged.body, spec: { replicas: -1 } })).code, 422);
    const object = cluster.get(deployment);
    assert.deepEqual(
      [object?.spec, object?.metadata.generation],
      [{ selector: { matchLabels: { b: '2', a: '1' } }, replicas: 5 }, 3],
    );
  });

  test('of a custom resource is where its definition says', async (t) => {
    const subresources = { scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' } };
    const { send } = await startApi(t, {
      customResourceDefinitions: [
        {
          apiVersion: 'apiextensions.k8s.io/v1',
          kind: 'CustomResourceDefinition',
          metadata: { name: 'widgets.example.com' },
          spec: {
            group: 'example.com',
            scope: 'Namespaced',
            names: { kind: 'Widget', plural: 'widgets' },
            versions: [{ name: 'v1', served: true, storage: true, subresources }],
          },
        },
      ],
    });
    const widgets = '/apis/example.com/v1/namespaces/default/widgets';
    const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' }, spec: {} };
    await send('POST', widgets, widget);
    const merge = { 'content-type': 'application/merge-patch+json' };
    await send('PATCH', `${widgets}/w/scale`, { spec: { replicas: 3 } }, merge);
    assert.deepEqual((await send('GET', `${widgets}/w/scale`)).body.spec, { replicas: 3 });
  });
});
