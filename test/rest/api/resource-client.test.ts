import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import { describe, type TestContext, test } from 'node:test';
import { type V1ConfigMap, type V1Lease, V1MicroTime, type V1Namespace } from '@kubernetes/client-node';
import { ApiError, type RestConfig, type Wire } from '../../../src/index.ts';
import type { SeenRequest } from '../../../src/testing/index.ts';
import { startConfigAt } from '../../fixtures/config-at.ts';
import { newNamespace, startFleet } from '../../fixtures/fleet.ts';
import { tlsOptions } from '../../fixtures/raw-h2.ts';
import { rejection } from '../../fixtures/thrown.ts';

const maps = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' };

async function start(t: TestContext) {
  const fleet = await startFleet(t);
  const seen: SeenRequest[] = [];
  fleet.cluster.onRequest = (request) => seen.push(request);
  return { ...fleet, seen };
}

interface Answered {
  readonly statusCode?: number;
  readonly type?: string;
  readonly body: string;
}

/** A server that knows ConfigMaps, and gives each request about one the same answer. */
async function startAnswering(t: TestContext, { statusCode = 200, type = 'application/json', body }: Answered) {
  const received: { method: string | undefined; url: string | undefined; type: string | undefined; body: string }[] =
    [];
  const resources = [{ name: 'configmaps', kind: 'ConfigMap', namespaced: true }];
  const server = createServer(tlsOptions, async (request, response) => {
    const { method, url, headers } = request;
    const text = Buffer.concat(await request.toArray()).toString();
    if (url === '/api/v1') return response.end(JSON.stringify({ kind: 'APIResourceList', resources }));
    received.push({ method, url, type: headers['content-type'], body: text });
    response.writeHead(statusCode, { 'content-type': type }).end(body);
  });
  const { config } = await startConfigAt(t, server);
  return { config, received };
}

/** The error of a call that an API server refuses. */
async function refusal(call: Promise<unknown>): Promise<ApiError> {
  const error = await rejection(call);
  assert.ok(error instanceof ApiError, String(error));
  assert.equal(error.code, 'API_STATUS');
  return error;
}

describe('config.resource', () => {
  test('creates, reads, lists, patches and deletes objects as the wire has them', async (t) => {
    const { config, seen } = await start(t);
    const client = config.resource<Wire<V1ConfigMap>>(maps);
    const created = await client.create({ metadata: { name: 'a', labels: { team: 'x' } }, data: { one: '1' } });
    assert.equal(typeof created.metadata.creationTimestamp, 'string');
    await client.create({ metadata: { generateName: 'b-' } });
    assert.deepEqual(await client.get('a'), created);
    assert.deepEqual(await client.find('a'), created);
    const page = await client.list({ limit: 1 });
    assert.deepEqual(page.items, [created]);
    const last = await client.list({ limit: 1, continue: page.metadata.continue ?? '' });
    assert.match(last.items[0]?.metadata.name ?? '', /^b-/);
    assert.deepEqual((await client.list({ labelSelector: 'team=x' })).items, [created]);
    assert.deepEqual((await client.list({ fieldSelector: 'metadata.name=a' })).items, [created]);

    const merged = await client.patch('a', { data: { one: null, two: '2' } });
    assert.deepEqual(merged.data, { two: '2' });
    const operated = await client.patch('a', [{ op: 'add', path: '/data/three', value: '3' }], { type: 'json' });
    assert.deepEqual(operated.data, { two: '2', three: '3' });
    const strategic = await client.patch('a', { data: { three: null } }, { type: 'strategic' });
    assert.deepEqual(strategic.data, { two: '2' });

    await client.delete('a');
    assert.deepEqual((await refusal(client.get('a'))).statusCode, 404);
    assert.equal(await client.find('a'), undefined);
    // The kinds of a group are asked for once.
    assert.equal(seen.filter(({ url }) => url === '/api/v1').length, 1);
  });

  test('reads and writes kinds without namespaces, and those of all namespaces', async (t) => {
    const { config } = await start(t);
    const namespaces = config.resource<Wire<V1Namespace>>({ apiVersion: 'v1', kind: 'Namespace' });
    await namespaces.create(newNamespace('other'));
    const everywhere = config.resource<Wire<V1ConfigMap>>({ apiVersion: 'v1', kind: 'ConfigMap' });
    for (const namespace of ['default', 'other']) await everywhere.create({ metadata: { name: 'a', namespace } });
    const found = (await everywhere.list()).items.map(({ metadata }) => metadata.namespace);
    assert.deepEqual(found, ['default', 'other']);
    const missing = { code: 'OPTION_INVALID', message: /namespace: .*ConfigMap is namespaced/ };
    await assert.rejects(everywhere.get('a'), missing);
    const message = /namespace: is \S+, and Namespace has no namespaces: leave it out/;
    const needless = { code: 'OPTION_INVALID', retryable: false, message };
    await assert.rejects(config.resource({ ...maps, kind: 'Namespace' }).get('a'), needless);
  });

  test('takes times as dates, as models of client-node have them', async (t) => {
    const { config } = await start(t);
    const kind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace: 'default' };
    const renewTime = new V1MicroTime('2026-01-02T03:04:05.678Z');
    const model: V1Lease = { metadata: { name: 'a' }, spec: { renewTime } };
    const lease = await config.resource<Wire<V1Lease>>(kind).create(model);
    assert.match(String(lease.spec?.renewTime), /^2026-01-02T03:04:05\.678/);
  });

  test('applies an object under the name of its field manager', async (t) => {
    const applied = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default' } };
    const { config, received } = await startAnswering(t, { body: JSON.stringify(applied) });
    const own = config.resource<Wire<V1ConfigMap>>({ ...maps, fieldManager: 'painter' });
    assert.deepEqual(await own.apply({ metadata: { name: 'a' }, data: { colour: 'red' } }, { force: true }), applied);
    await own.applyStatus({ metadata: { name: 'a' } }, { fieldManager: 'other', dryRun: true });
    await own.patch('a', { data: {} }, { subresource: 'status' });
    const url = '/api/v1/namespaces/default/configmaps/a';
    const type = 'application/apply-patch+yaml';
    const [kind, metadata] = ['"apiVersion":"v1","kind":"ConfigMap"', '"metadata":{"name":"a"}'];
    const merge = 'application/merge-patch+json';
    const patched = received.map((one) => [one.method, one.url, one.type, one.body]);
    assert.deepEqual(patched, [
      ['PATCH', `${url}?fieldManager=painter&force=true`, type, `{${kind},${metadata},"data":{"colour":"red"}}`],
      ['PATCH', `${url}/status?fieldManager=other&dryRun=All`, type, `{${kind},${metadata}}`],
      ['PATCH', `${url}/status?fieldManager=painter`, merge, '{"data":{}}'],
    ]);
  });

  test('replaces an object by a changed state of it, and refuses one that has changed since', async (t) => {
    const { config, cluster } = await startFleet(t);
    const client = config.resource<Wire<V1ConfigMap>>({ ...maps, fieldManager: 'painter' });
    const first = await client.create({ metadata: { name: 'a' }, data: { colour: 'red', size: '1' } });
    const second = await client.replace({ ...first, data: { colour: 'blue' } });
    assert.deepEqual(second.data, { colour: 'blue' });
    const { statusCode, reason } = await refusal(client.replace({ ...first, data: {} }));
    assert.deepEqual([statusCode, reason], [409, 'Conflict']);
    const { name } = first.metadata;
    assert.deepEqual((await client.replace({ metadata: { name }, data: {} }, { dryRun: true })).data, {});
    assert.deepEqual(cluster.get(first)?.data, { colour: 'blue' });
    const namespaces = config.resource({ apiVersion: 'v1', kind: 'Namespace' });
    const space = await namespaces.get('default');
    const status = { phase: 'Terminating' };
    await namespaces.replace({ ...space, status }, { subresource: 'status' });
    assert.deepEqual((await namespaces.get('default')).status, status);
  });

  test('deletes under preconditions, with a policy for what the object owns', async (t) => {
    const { config, received } = await startAnswering(t, { body: '{"kind":"Status"}' });
    const preconditions = { uid: 'u', resourceVersion: '7' };
    const options = { preconditions, propagationPolicy: 'Foreground', gracePeriodSeconds: 0 } as const;
    await config.resource(maps).delete('a', options);
    const { body = '' } = received[0] ?? {};
    const kind = { apiVersion: 'v1', kind: 'DeleteOptions' };
    assert.deepEqual(JSON.parse(body), { ...kind, ...options });
    const { config: real } = await start(t);
    const client = real.resource<Wire<V1ConfigMap>>(maps);
    const { metadata } = await client.create({ metadata: { name: 'a' } });
    const { statusCode, reason } = await refusal(client.delete('a', { preconditions: { uid: 'another' } }));
    assert.deepEqual([statusCode, reason], [409, 'Conflict']);
    await client.delete('a', { preconditions: { uid: metadata.uid, resourceVersion: metadata.resourceVersion } });
  });

  test('says why the server refuses: its status, reason, message and causes', async (t) => {
    const what = 'conflict with "kubectl" using v1';
    const causes = [{ reason: 'FieldManagerConflict', message: what, field: '.data.colour' }];
    const message = 'Apply failed with 1 conflict: conflict with "kubectl" using v1: .data.colour';
    const status = { kind: 'Status', code: 409, reason: 'Conflict', message, details: { name: 'a', causes } };
    const { config } = await startAnswering(t, { statusCode: 409, body: JSON.stringify(status) });
    const client = config.resource({ ...maps, fieldManager: 'painter' });
    assert.equal((await refusal(client.find('a'))).statusCode, 409, 'only what is not there is undefined');
    const conflict = await refusal(client.apply({ metadata: { name: 'a' } }));
    assert.deepEqual([conflict.statusCode, conflict.reason, conflict.retryable], [409, 'Conflict', false]);
    assert.deepEqual(conflict.causes, causes);
    assert.deepEqual([conflict.profile, conflict.server], ['fleet/raw', config.access.cluster.server]);
    const place = /^ClusterProfile fleet\/raw, https:\S+: PATCH \/api\/v1\/namespaces\/default\/configmaps\/a /;
    assert.match(conflict.message, place);
    assert.match(conflict.message.replace(place, ''), /^was answered with 409: Apply failed/);

    const { config: real } = await start(t);
    const invalid = await refusal(real.resource(maps).create({ metadata: { name: 'a', labels: { 'a b': 'c' } } }));
    assert.deepEqual([invalid.statusCode, invalid.reason], [422, 'Invalid']);
    const fields = invalid.causes.map(({ reason, field }) => [reason, field]);
    assert.deepEqual(fields, [['FieldValueInvalid', 'metadata.labels']]);
  });

  test('asks again where a kind is served after a 404 that names no object', async (t) => {
    const { config, seen, cluster } = await start(t);
    const client = config.resource(maps);
    await refusal(client.get('a'));
    await refusal(client.get('a'));
    assert.equal(seen.filter(({ url }) => url === '/api/v1').length, 1);
    cluster.failNext({ status: 404, message: 'the server could not find the requested resource' });
    await refusal(client.get('a'));
    await refusal(client.get('a'));
    assert.equal(seen.filter(({ url }) => url === '/api/v1').length, 2);
  });

  test('an answer that is no object of the API is an error, and is not shown', async (t) => {
    const { config } = await startAnswering(t, { type: 'text/html', body: '<html>token-1</html>' });
    const message = /^(?!.*token-1).*ClusterProfile fleet\/raw, .*configmaps\/a was not answered with JSON/s;
    await assert.rejects(config.resource(maps).get('a'), { code: 'RESPONSE_INVALID', message });
    const { config: other } = await startAnswering(t, { body: '[]' });
    await assert.rejects(other.resource(maps).get('a'), { code: 'RESPONSE_INVALID' });
    await assert.rejects(other.resource(maps).list(), { code: 'RESPONSE_INVALID' });
  });

  test('an empty list may be null, as Go writes it', async (t) => {
    const list = { metadata: { resourceVersion: '1' }, items: null };
    const { config } = await startAnswering(t, { body: JSON.stringify(list) });
    assert.deepEqual(await config.resource(maps).list(), { ...list, items: [] });
    const { config: other } = await startAnswering(t, { body: JSON.stringify({ metadata: list.metadata }) });
    await assert.rejects(other.resource(maps).list(), { code: 'RESPONSE_INVALID' });
  });

  test('sends a request again as the server asks, and replays it after a 401', async (t) => {
    const { config, cluster, seen } = await start(t);
    const client = config.resource(maps);
    await client.list();
    seen.length = 0;
    cluster.failNext({ status: 429, retryAfterSeconds: 0 });
    cluster.failNext(401);
    await client.create({ metadata: { name: 'a' } });
    const sent = seen.map(({ method, url }) => `${method} ${url}`);
    assert.deepEqual(sent, new Array(3).fill('POST /api/v1/namespaces/default/configmaps'));
  });

  test("rejects with the signal's reason, also while the kinds are asked for, and leaves others alone", async (t) => {
    const { config, cluster } = await start(t);
    const client = config.resource(maps);
    const stop = new AbortController();
    const asked = Promise.withResolvers<void>();
    cluster.onRequest = () => asked.resolve();
    const aborted = client.list({ signal: stop.signal });
    const other = client.list();
    await asked.promise;
    stop.abort(new Error('enough'));
    await assert.rejects(aborted, { message: 'enough' });
    assert.deepEqual((await other).items, []);
    await assert.rejects(client.get('a', { signal: stop.signal }), { message: 'enough' });
    cluster.failNext('hang');
    await assert.rejects(client.get('a', { signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' });
  });

  test('names a wrong option or argument, and sends nothing', async (t) => {
    const { config, seen } = await start(t);
    const wrong = (call: (client: ReturnType<RestConfig['resource']>) => Promise<unknown>, message: RegExp) =>
      assert.rejects(async () => call(config.resource(maps)), refused(message));
    const refused = (message: RegExp) => ({ code: 'OPTION_INVALID', message });
    assert.throws(() => config.resource({ apiVersion: '', kind: 'Pod' }), refused(/apiVersion/));
    assert.throws(() => config.resource({ ...maps, namespace: 'a/b' }), refused(/namespace/));
    for (const name of ['', '.', '..', 'a/b', 'a%2fb', 'a?b', 'a b', 'ä']) {
      await wrong((client) => client.delete(name), /delete: name: must be the name of an object/);
      await wrong((client) => client.apply({ metadata: { name } }, { fieldManager: 'x' }), /apply: metadata\.name/);
    }
    await wrong((client) => client.list({ limt: 1 } as object), /limt: is not an option \(did you mean limit\?\)/);
    await wrong((client) => client.create([] as never), /create: object: must be an object/);
    await wrong((client) => client.patch('a', 'x' as never), /patch: patch: must be a patch/);
    const type = 'mrege' as never;
    await wrong((client) => client.patch('a', {}, { type }), /type: must be one of merge, json, strategic/);
    assert.deepEqual(seen, []);
  });
});
