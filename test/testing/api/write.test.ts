import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { configMap, configMaps, startApi } from '../../fixtures/api.ts';

const profiles = '/apis/multicluster.x-k8s.io/v1alpha1/namespaces/default/clusterprofiles';
const profile = (name: string, more: object = {}) => ({
  apiVersion: 'multicluster.x-k8s.io/v1alpha1',
  kind: 'ClusterProfile',
  metadata: { name },
  spec: { clusterManager: { name: 'm' } },
  ...more,
});
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

describe('a POST', () => {
  test('stores an object with what only the server says', async (t) => {
    const { send } = await startApi(t, { clock: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678) });
    const given = {
      metadata: { name: 'a', uid: 'mine', creationTimestamp: '2000-01-01T00:00:00Z', labels: {} },
      data: { x: '1' },
      immutable: null,
    };
    const { code, body } = await send('POST', configMaps, given, { 'user-agent': 'program/1 (linux)' });
    assert.equal(code, 201);
    const { uid, resourceVersion, managedFields, ...metadata } = body.metadata;
    assert.deepEqual(managedFields, [
      {
        manager: 'program',
        operation: 'Update',
        apiVersion: 'v1',
        time: '2026-01-02T03:04:05Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { 'f:x': {} } },
      },
    ]);
    assert.match(uid, /^[0-9a-f]{8}-/);
    assert.match(resourceVersion, /^\d+$/);
    assert.deepEqual(metadata, { name: 'a', namespace: 'default', creationTimestamp: '2026-01-02T03:04:05Z' });
    assert.deepEqual(
      [body.apiVersion, body.kind, body.data, 'immutable' in body],
      ['v1', 'ConfigMap', { x: '1' }, false],
    );
    assert.deepEqual((await send('GET', `${configMaps}/a`)).body, body);
  });

  test('makes a name of generateName', async (t) => {
    const { send } = await startApi(t);
    const names = [];
    for (let index = 0; index < 3; index++) {
      const { body } = await send('POST', configMaps, { metadata: { generateName: 'run-' } });
      names.push(body.metadata.name);
    }
    assert.equal(new Set(names).size, 3);
    for (const name of names) assert.match(name, /^run-[a-z0-9]{5}$/);
  });

  const refused = [
    ['a name that is taken', configMap('there'), 409, 'AlreadyExists', { name: 'there', kind: 'configmaps' }],
    [
      'a name that is none',
      configMap('Not_A_Name'),
      422,
      'Invalid',
      { name: 'Not_A_Name', kind: 'ConfigMap', fields: ['metadata.name'] },
    ],
    ['no name', { metadata: {} }, 422, 'Invalid', { kind: 'ConfigMap', fields: ['metadata.name'] }],
    [
      'a label that is none',
      { metadata: { name: 'a', labels: { 'a/b/c': '-' } } },
      422,
      'Invalid',
      { name: 'a', kind: 'ConfigMap', fields: ['metadata.labels', 'metadata.labels'] },
    ],
    ['a label that is no text', { metadata: { name: 'a', labels: { a: 1 } } }, 400, 'BadRequest', undefined],
    ['another kind', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } }, 400, 'BadRequest', undefined],
    ['another version', { apiVersion: 'v2', kind: 'ConfigMap', metadata: { name: 'a' } }, 400, 'BadRequest', undefined],
    ['another namespace', { metadata: { name: 'a', namespace: 'kube-system' } }, 400, 'BadRequest', undefined],
    ['a version', { metadata: { name: 'a', resourceVersion: '1' } }, 500, undefined, undefined],
    ['no object', ['a'], 400, 'BadRequest', undefined],
    ['no JSON', '{', 400, 'BadRequest', undefined],
    [
      'two owners that are the controller',
      { metadata: { name: 'a', ownerReferences: [owner('1'), owner('2')] } },
      422,
      'Invalid',
      { name: 'a', kind: 'ConfigMap', fields: ['metadata.ownerReferences'] },
    ],
    [
      'an owner without a UID',
      { metadata: { name: 'a', ownerReferences: [owner('')] } },
      422,
      'Invalid',
      { name: 'a', kind: 'ConfigMap', fields: ['metadata.ownerReferences.uid'] },
    ],
  ] as const;
  test('is refused with the reason that Kubernetes gives', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add(configMap('there'));
    for (const [what, object, code, reason, details] of refused) {
      const { body, ...answer } = await send('POST', configMaps, object);
      const { causes, ...rest } = body.details ?? {};
      const fields = causes?.map(({ field }: { field: string }) => field);
      assert.deepEqual(
        [
          answer.code,
          body.code,
          body.kind,
          body.status,
          body.reason,
          body.details && { ...rest, ...(fields ? { fields } : {}) },
        ],
        [code, code, 'Status', 'Failure', reason, details],
        what,
      );
    }
  });

  test('needs a namespace that is there and stays', async (t) => {
    const { cluster, send } = await startApi(t);
    const missing = await send(
      'POST',
      '/api/v1/namespaces/nowhere/configmaps',
      configMap('a', { metadata: { name: 'a' } }),
    );
    assert.deepEqual([missing.code, missing.body.message], [404, 'namespaces "nowhere" not found']);
    cluster.add({
      ...configMap('held'),
      metadata: { name: 'held', namespace: 'ending', finalizers: ['example.com/hold'] },
    });
    await send('DELETE', '/api/v1/namespaces/ending');
    const late = await send('POST', '/api/v1/namespaces/ending/configmaps', { metadata: { name: 'a' } });
    assert.deepEqual(
      [late.code, late.body.reason, late.body.details.causes[0].reason],
      [403, 'Forbidden', 'NamespaceTerminating'],
    );
  });

  test('of a Secret makes data of stringData', async (t) => {
    const { send } = await startApi(t);
    const secret = { metadata: { name: 's' }, data: { a: 'eA==' }, stringData: { b: 'yz' } };
    const { body } = await send('POST', '/api/v1/namespaces/default/secrets', secret);
    assert.deepEqual([body.type, body.data, body.stringData], ['Opaque', { a: 'eA==', b: 'eXo=' }, undefined]);
  });
});

function owner(uid: string) {
  return { apiVersion: 'v1', kind: 'Pod', name: 'p', uid, controller: true };
}

describe('a PUT', () => {
  test('replaces an object, and is a conflict with a version that is no longer the newest', async (t) => {
    const { send } = await startApi(t);
    const { body: first } = await send('POST', configMaps, configMap('a', { data: { x: '1', y: '1' } }));
    const { code, body: second } = await send('PUT', `${configMaps}/a`, { ...first, data: { x: '2' } });
    assert.deepEqual([code, second.data], [200, { x: '2' }]);
    const { uid, creationTimestamp } = second.metadata;
    assert.deepEqual([uid, creationTimestamp], [first.metadata.uid, first.metadata.creationTimestamp]);
    const late = await send('PUT', `${configMaps}/a`, { ...first, data: { x: '3' } });
    assert.deepEqual(
      [late.code, late.body.reason, late.body.details],
      [409, 'Conflict', { name: 'a', kind: 'configmaps' }],
    );
    assert.match(late.body.message, /the object has been modified; please apply your changes to the latest version/);
    assert.deepEqual((await send('PUT', `${configMaps}/a`, configMap('a'))).code, 200, 'no version is any version');
    const gone = await send('PUT', `${configMaps}/b`, configMap('b'));
    assert.deepEqual([gone.code, gone.body.message], [404, 'configmaps "b" not found']);
  });

  test('that changes nothing is no new version', async (t) => {
    const { send } = await startApi(t);
    const { body } = await send('POST', configMaps, configMap('a', { data: { x: '1', y: '2' } }));
    const { metadata } = (await send('PUT', `${configMaps}/a`, { ...body, data: { y: '2', x: '1' } })).body;
    assert.equal(metadata.resourceVersion, body.metadata.resourceVersion);
  });

  test('does not change whose object it is, nor when it was made', async (t) => {
    const { send } = await startApi(t);
    const { body } = await send('POST', configMaps, configMap('a'));
    const put = (metadata: object) =>
      send('PUT', `${configMaps}/a`, { ...body, metadata: { ...body.metadata, ...metadata } });
    assert.equal((await put({ name: 'b' })).code, 400);
    assert.equal((await put({ namespace: 'kube-system' })).code, 400);
    assert.equal((await put({ uid: 'other' })).code, 409);
    assert.equal((await put({ deletionTimestamp: '2000-01-01T00:00:00Z' })).code, 422);
    const same = await put({ creationTimestamp: '2000-01-01T00:00:00Z', generation: 7 });
    assert.deepEqual([same.code, same.body.metadata], [200, body.metadata]);
  });

  test('of a Lease makes one, needs its version later, and keeps microseconds', async (t) => {
    const { send } = await startApi(t);
    const lease = (renewTime: string, metadata: object = {}) => ({
      metadata: { name: 'l', ...metadata },
      spec: { holderIdentity: 'h', leaseDurationSeconds: 15, renewTime },
    });
    const made = await send('PUT', `${leases}/l`, lease('2026-01-01T01:00:00.123456+01:00'));
    assert.deepEqual([made.code, made.body.spec.renewTime], [201, '2026-01-01T00:00:00.123456Z']);
    const blind = await send('PUT', `${leases}/l`, lease('2026-01-01T00:00:01.000000Z'));
    assert.deepEqual([blind.code, blind.body.details.causes[0].field], [422, 'metadata.resourceVersion']);
    const { resourceVersion } = made.body.metadata;
    assert.equal(
      (await send('PUT', `${leases}/l`, lease('2026-01-01T00:00:01.000000Z', { resourceVersion }))).code,
      200,
    );
    const late = await send('PUT', `${leases}/l`, lease('2026-01-01T00:00:02.000000Z', { resourceVersion }));
    assert.deepEqual(
      [late.code, late.body.message.split(':')[0]],
      [409, 'Operation cannot be fulfilled on leases.coordination.k8s.io "l"'],
    );
    const short = await send('POST', leases, lease('2026-01-01T00:00:00.123Z'));
    assert.equal(short.code, 400, 'a time of JavaScript has three digits');
  });
});

describe('the status', () => {
  test('is written by the subresource only, which writes nothing else', async (t) => {
    const { send } = await startApi(t);
    const { body: made } = await send('POST', profiles, profile('p', { status: { version: { kubernetes: 'v1' } } }));
    assert.deepEqual([made.status, made.metadata.generation], [undefined, 1]);
    const status = { version: { kubernetes: 'v2' } };
    const { body: told } = await send('PUT', `${profiles}/p/status`, {
      ...made,
      metadata: { ...made.metadata, labels: { a: 'b' } },
      spec: { clusterManager: { name: 'n' } },
      status,
    });
    assert.deepEqual(
      [told.status, told.spec, told.metadata.labels, told.metadata.generation],
      [status, made.spec, undefined, 1],
    );
    const { body: changed } = await send('PUT', `${profiles}/p`, {
      ...told,
      spec: { clusterManager: { name: 'n' } },
      status: {},
    });
    assert.deepEqual([changed.status, changed.metadata.generation], [status, 2]);
    const { body: named } = await send('PUT', `${profiles}/p`, {
      ...changed,
      metadata: { ...changed.metadata, labels: { a: 'b' } },
    });
    assert.deepEqual([named.metadata.labels, named.metadata.generation], [{ a: 'b' }, 2]);
    assert.deepEqual((await send('GET', `${profiles}/p/status`)).body, named);
    assert.equal((await send('PUT', `${configMaps}/a/status`, configMap('a'))).code, 501);
  });

  test('is what its kind begins with', async (t) => {
    const { send } = await startApi(t);
    const { body: namespace } = await send('POST', '/api/v1/namespaces', {
      metadata: { name: 'n' },
      status: { phase: 'x' },
    });
    assert.deepEqual(namespace.status, { phase: 'Active' });
    assert.deepEqual(namespace.metadata.labels, { 'kubernetes.io/metadata.name': 'n' });
  });
});
