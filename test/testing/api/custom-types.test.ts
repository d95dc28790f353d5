import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startApi } from '../../fixtures/api.ts';

describe('a CustomResourceDefinition', () => {
  const definition = (scope: string) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope,
      names: { kind: 'Widget', plural: 'widgets' },
      versions: [
        { name: 'v1', served: true, storage: true, selectableFields: [{ jsonPath: '.spec.color' }] },
        { name: 'v1beta1', served: true, storage: false },
        { name: 'v1alpha1', served: false, storage: false },
      ],
    },
  });
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const widget = (name: string, color: string) => ({
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name },
    spec: { color },
  });

  test('makes a kind in each served version, which ends with it', async (t) => {
    const { send } = await startApi(t);
    assert.equal((await send('GET', '/apis/example.com/v1/widgets')).code, 404);
    const { code, body } = await send('POST', path, definition('Cluster'));
    assert.deepEqual(
      [code, body.status.conditions.map(({ type }: { type: string }) => type)],
      [201, ['NamesAccepted', 'Established']],
    );
    assert.equal((await send('POST', '/apis/example.com/v1/widgets', widget('w', 'red'))).code, 201);
    assert.equal((await send('POST', '/apis/example.com/v1/widgets', widget('x', 'blue'))).code, 201);
    const { body: other } = await send('GET', '/apis/example.com/v1beta1/widgets/w');
    assert.deepEqual([other.apiVersion, other.spec], ['example.com/v1beta1', { color: 'red' }]);
    assert.equal((await send('GET', '/apis/example.com/v1alpha1/widgets/w')).code, 404);
    const { body: blue } = await send('GET', '/apis/example.com/v1/widgets?fieldSelector=spec.color%3Dblue');
    assert.deepEqual(
      blue.items.map((item: { metadata: { name: string } }) => item.metadata.name),
      ['x'],
    );
    await send('DELETE', `${path}/widgets.example.com`);
    assert.equal((await send('GET', '/apis/example.com/v1/widgets')).code, 404);
    await send('POST', path, definition('Cluster'));
    assert.deepEqual((await send('GET', '/apis/example.com/v1/widgets')).body.items, []);
  });

  test('may be an option, and must be right', async (t) => {
    const { send } = await startApi(t, { customResourceDefinitions: [definition('Namespaced')] });
    assert.equal((await send('POST', '/apis/example.com/v1/namespaces/default/widgets', widget('w', 'red'))).code, 201);
    const { metadata, ...rest } = definition('Cluster');
    assert.equal(
      (await send('POST', path, { metadata: { name: 'other' }, ...rest })).body.details.causes[0].field,
      'metadata.name',
    );
    assert.equal((await send('POST', path, { metadata: { name: 'a.b' }, spec: {} })).code, 422);
  });
});
