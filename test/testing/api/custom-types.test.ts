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
    await send('POST', path, definition('Cluster'));
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
    const { cluster, send } = await startApi(t, { customResourceDefinitions: [definition('Namespaced')] });
    assert.equal((await send('POST', '/apis/example.com/v1/namespaces/default/widgets', widget('w', 'red'))).code, 201);
    const conditions = [{ type: 'Established', status: 'False' }];
    cluster.set({ ...definition('Namespaced'), status: { conditions } });
    const { body } = await send('GET', `${path}/widgets.example.com`);
    assert.deepEqual(
      body.status.conditions,
      conditions,
      'that it is established is said where a test says nothing else',
    );
    const { metadata, ...rest } = definition('Cluster');
    assert.throws(
      () => cluster.add({ metadata: { name: 'other' }, ...rest }),
      /metadata.name: .*must be spec.names.plural/,
    );
    assert.equal((await send('POST', path, { metadata: { name: 'a.b' }, spec: {} })).code, 422);
  });

  const version = (name: string, storage: boolean) => ({ name, served: true, storage });

  test('that converts its objects is a 501', async (t) => {
    const { send } = await startApi(t);
    const { spec, ...rest } = definition('Namespaced');
    const { code, body } = await send('POST', path, {
      ...rest,
      spec: { ...spec, conversion: { strategy: 'Webhook' } },
    });
    assert.equal(code, 501);
    assert.match(body.message, /it converts no objects/);
  });

  test('that is deleted takes its objects along, but for those with finalizers', async (t) => {
    const { send, watch } = await startApi(t);
    await send('POST', path, definition('Namespaced'));
    const widgets = '/apis/example.com/v1/namespaces/default/widgets';
    await send('POST', widgets, widget('free', 'red'));
    const held = widget('held', 'red');
    await send('POST', widgets, { ...held, metadata: { ...held.metadata, finalizers: ['example.com/x'] } });
    const events = await watch(widgets);
    assert.deepEqual(await events.names(2), ['ADDED free', 'ADDED held']);
    const { code, body } = await send('DELETE', `${path}/widgets.example.com`);
    assert.equal(code, 501);
    assert.match(
      body.message,
      /CustomResourceDefinition widgets.example.com while Widget default\/held has finalizers/,
    );
    const merge = { 'content-type': 'application/merge-patch+json' };
    await send('PATCH', `${widgets}/held`, { metadata: { finalizers: null } }, merge);
    assert.equal((await send('DELETE', `${path}/widgets.example.com`)).code, 200);
    assert.deepEqual(await events.names(4), ['MODIFIED held', 'DELETED free', 'DELETED held', 'end']);
    assert.equal((await send('GET', `${path}/widgets.example.com`)).code, 404);
    assert.equal((await send('GET', widgets)).code, 404);
  });

  test('that a test takes away takes its objects along, and ends their watches', async (t) => {
    const { cluster, watch } = await startApi(t, { customResourceDefinitions: [definition('Namespaced')] });
    const events = await watch('/apis/example.com/v1/widgets');
    cluster.add(widget('w', 'red'));
    cluster.delete(definition('Namespaced'));
    assert.deepEqual(await events.names(3), ['ADDED w', 'DELETED w', 'end']);
    cluster.add(definition('Namespaced'));
    assert.deepEqual(cluster.list({ apiVersion: 'example.com/v1', kind: 'Widget' }), []);
  });

  test('that a test takes away ends a namespace that waits for one of its objects', async (t) => {
    const { cluster, send } = await startApi(t, { customResourceDefinitions: [definition('Namespaced')] });
    const held = widget('w', 'red');
    cluster.add({ ...held, metadata: { ...held.metadata, namespace: 'n', finalizers: ['example.com/x'] } });
    assert.equal((await send('DELETE', '/api/v1/namespaces/n')).code, 200);
    assert.equal((await send('GET', '/api/v1/namespaces/n')).code, 200);
    cluster.delete(definition('Namespaced'));
    assert.equal((await send('GET', '/api/v1/namespaces/n')).code, 404);
  });

  test('that serves a version no longer ends the watches of that version', async (t) => {
    const { cluster, watch } = await startApi(t, { customResourceDefinitions: [definition('Namespaced')] });
    const [old, other] = [
      await watch('/apis/example.com/v1beta1/widgets'),
      await watch('/apis/example.com/v1/widgets'),
    ];
    const { spec, ...rest } = definition('Namespaced');
    cluster.set({ ...rest, spec: { ...spec, versions: spec.versions.slice(0, 1) } });
    cluster.add(widget('w', 'red'));
    assert.deepEqual([await old.names(1), await other.names(1)], [['end'], ['ADDED w']]);
  });

  test('of ClusterProfile may be put in the place of the one that is there', async (t) => {
    const own = {
      ...definition('Namespaced'),
      metadata: { name: 'clusterprofiles.multicluster.x-k8s.io' },
      spec: {
        group: 'multicluster.x-k8s.io',
        scope: 'Namespaced',
        names: { kind: 'ClusterProfile', plural: 'clusterprofiles' },
        versions: [version('v1alpha2', true), version('v1alpha1', false)],
      },
    };
    const { cluster, send } = await startApi(t, { customResourceDefinitions: [own] });
    assert.equal((await send('GET', '/apis/multicluster.x-k8s.io/v1alpha2/clusterprofiles')).code, 200);
    assert.throws(() => cluster.add(own), /there is a CustomResourceDefinition clusterprofiles.* already/);
    cluster.set({ ...own, spec: { ...own.spec, versions: [version('v1alpha2', true)] } });
    assert.equal((await send('GET', '/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles')).code, 404);
  });
});
