// What a test sees of its own objects, and what two servers need not have alike; the rest is in test/testing/scenarios.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { describe, test } from 'node:test';
import { type Body, configMap, configMaps, startApi } from '../../fixtures/api.ts';

const apply = { 'content-type': 'application/apply-patch+yaml' };

describe('an object', () => {
  test('that is created has what only the server says, by its clock', async (t) => {
    const { send } = await startApi(t, { clock: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678) });
    const given = { metadata: { name: 'a', creationTimestamp: '2000-01-01T00:00:00Z' }, data: { x: '1' } };
    const { body } = await send('POST', configMaps, given, { 'user-agent': 'program/1 (linux)' });
    const { uid, resourceVersion, managedFields, ...metadata } = body.metadata;
    const [{ fieldsV1, ...manager }] = managedFields;
    assert.deepEqual(fieldsV1, { 'f:data': { 'f:x': {} } });
    const time = '2026-01-02T03:04:05Z';
    assert.deepEqual(manager, {
      manager: 'program',
      operation: 'Update',
      apiVersion: 'v1',
      time,
      fieldsType: 'FieldsV1',
    });
    assert.match(`${uid} ${resourceVersion}`, /^[0-9a-f]{8}-[0-9a-f-]+ \d+$/);
    assert.deepEqual(metadata, { name: 'a', namespace: 'default', creationTimestamp: time });
  });

  test('gets a name that no other has, however many share its prefix', async (t) => {
    const { send } = await startApi(t);
    let letters = 0;
    const { mock } = t.mock.method(crypto, 'randomInt', () => Math.floor(letters++ / 10));
    syncBuiltinESMExports();
    t.after(() => {
      mock.restore();
      syncBuiltinESMExports();
    });
    const given = { metadata: { generateName: 'run-' } };
    const names = [await send('POST', configMaps, given), await send('POST', configMaps, given)];
    assert.deepEqual(
      names.map(({ code, body }) => [code, body.metadata.name]),
      [
        [201, 'run-bbbbb'],
        [201, 'run-ccccc'],
      ],
    );
  });

  test('that a test sets is of a manager before the first apply', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add(configMap('a', { data: { x: '0' } }));
    const to = (query: string) =>
      send('PATCH', `${configMaps}/a?fieldManager=one${query}`, configMap('a', { data: { x: '1' } }), apply);
    const { body } = await to('');
    assert.equal(body.message, 'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.x');
    assert.equal((await to('&force=true')).code, 200);
    cluster.add(configMap('empty', { data: {} }));
    const filled = configMap('empty', { data: { x: '1' } });
    const { code } = await send('PATCH', `${configMaps}/empty?fieldManager=one`, filled, apply);
    assert.equal(code, 200, 'what fills an empty object takes it from nobody');
    cluster.set(configMap('a', { data: { x: '2', y: '2' } }));
    const managers = cluster.get(configMap('a'))?.metadata.managedFields as Body[]; // as the server says them
    assert.deepEqual(
      managers.map(({ manager, fieldsV1 }) => [manager, Object.keys(fieldsV1['f:data'])]),
      [['FakeCluster', ['f:x', 'f:y']]],
    );
  });
});

test('a dry run is asked for with All: another word, such as that of kubectl, is refused', async (t) => {
  const { send } = await startApi(t);
  assert.equal((await send('POST', `${configMaps}?dryRun=server`, configMap('a'))).code, 422);
  assert.equal((await send('POST', `${configMaps}/a?dryRun=server`, configMap('a'))).code, 405);
  assert.equal((await send('DELETE', `${configMaps}/a`, { dryRun: ['server'] })).code, 422);
});

describe('a namespace', () => {
  const namespaces = '/api/v1/namespaces';
  const merge = { 'content-type': 'application/merge-patch+json' };
  const held = (name: string) => ({ metadata: { name, finalizers: ['example.com/x'] } });
  const release = { metadata: { finalizers: null } };

  test('that has finalizers of its own stays for them once it is empty', async (t) => {
    const { send } = await startApi(t);
    await send('POST', namespaces, held('n'));
    await send('DELETE', `${namespaces}/n`);
    assert.equal((await send('GET', `${namespaces}/n`)).body.status.phase, 'Terminating');
    await send('PATCH', `${namespaces}/n`, release, merge);
    assert.equal((await send('GET', `${namespaces}/n`)).code, 404);
  });
});

describe('a list', () => {
  test('of Pods is selected by the fields that Kubernetes selects them by', async (t) => {
    const { cluster, send } = await startApi(t);
    const pod = (name: string, more: object) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, ...more });
    cluster.add([
      pod('a', { spec: { nodeName: 'n1' }, status: { phase: 'Running' } }),
      pod('b', { spec: { nodeName: 'n2' }, status: { phase: 'Running' } }),
      pod('c', {}),
    ]);
    for (const [selector, expected] of [
      ['spec.nodeName=n1', 'a'],
      ['spec.nodeName=', 'c'],
      ['status.phase=Running,spec.nodeName==n2', 'b'],
      ['status.phase!=Running', 'c'],
    ] as const) {
      const { body } = await send('GET', `/api/v1/pods?fieldSelector=${encodeURIComponent(selector)}`);
      assert.equal(body.items.map(({ metadata }: Body) => metadata.name).join(' '), expected, selector);
    }
  });

  test('in pages goes through all namespaces in the order of their names', async (t) => {
    const { cluster, send } = await startApi(t);
    for (const namespace of ['x', 'x-y', 'y'])
      for (const name of ['a', 'b']) cluster.add({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name } });
    const seen: string[] = [];
    for (let token: string | undefined = ''; token !== undefined; ) {
      const { body }: { body: Body } = await send('GET', `/api/v1/secrets?limit=1&continue=${token}`);
      seen.push(...body.items.map(({ metadata }: Body) => `${metadata.namespace}/${metadata.name}`));
      token = body.metadata.continue;
    }
    assert.equal(seen.join(' '), 'x-y/a x-y/b x/a x/b y/a y/b');
  });

  test('of a version that the server forgot is a 410, from its beginning and from a later page', async (t) => {
    const { cluster, send } = await startApi(t);
    const { resourceVersion: first, continue: token } = (await send('GET', '/api/v1/namespaces?limit=1')).body.metadata;
    cluster.add({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } });
    cluster.compact();
    for (const query of [`resourceVersion=${first}&resourceVersionMatch=Exact`, `continue=${token}`]) {
      const late = await send('GET', `/api/v1/namespaces?${query}`);
      assert.deepEqual([late.code, late.body.reason], [410, 'Expired']);
    }
  });
});
