// Writes, lists and watches, objects that end, definitions, tokens, generations, dry runs, and what single kinds refuse. Of each
// answer what the step is about is compared, as kinds such as Pod have defaults that the fake does not know.
import { isList, isObject, type JsonObject, valueAt } from '../../../src/testing/api/json.ts';
import { applies } from './apply-scenarios.ts';
import {
  apply,
  at,
  get,
  inside,
  listed,
  map,
  maps,
  merge,
  namespace,
  nothing,
  type Pick,
  post,
  put,
  remove,
  type Step,
} from './scenario.ts';
import type { Sent } from './side.ts';
import { selections, writes } from './write-scenarios.ts';

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** What of an object's metadata its end is about. */
const end: Pick = (body) => {
  const meta = valueAt(body, ['metadata']);
  if (!isObject(meta)) return null;
  const { finalizers = null, deletionGracePeriodSeconds: seconds = null, generation = null } = meta;
  return [finalizers, meta.deletionTimestamp !== undefined, seconds, generation, valueAt(body, ['kind']) ?? null];
};

const conditions: Pick = (body) => {
  const all = valueAt(body, ['status', 'conditions']);
  return (isList(all) ? all : []).map((one) => `${valueAt(one, ['type'])} ${valueAt(one, ['status'])}`).sort();
};

/** Every scenario, in an order that is always the same: what a step finds was left by those before it. */
export async function scenarios(step: Step): Promise<void> {
  await step(post('/api/v1/namespaces', { metadata: { name: namespace } }), at('metadata', 'labels'));
  for (const name of ['default', 'bot']) await step(post(`${inside}/serviceaccounts`, { metadata: { name } }), nothing);
  await objects(step);
  await selections(step);
  await writes(step);
  await dryRuns(step);
  await namespaces(step);
  await definitions(step);
  await tokens(step);
  await generations(step);
  await refusals(step);
  await applies(step);
  await forms(step);
}

/** What of an object a client has written. */
const written: Pick = (body) => {
  const { name = null, labels = null, annotations = null } = Object(valueAt(body, ['metadata'])) as JsonObject;
  return [valueAt(body, ['kind']) ?? null, name, labels, annotations, valueAt(body, ['data']) ?? null];
};
/** Each verb on an object and its collection, right and wrong. */
async function objects(step: Step): Promise<void> {
  const patchOf = (type: string, body: unknown): Sent =>
    merge(`${maps}/a`, body as JsonObject, { 'content-type': `application/${type}` }); // a JSON patch is a list
  for (const name of ['a', 'b', 'c'])
    await step(post(maps, map(name, { data: { x: name } }, { labels: { of: name } })), written);
  for (const sent of [
    post(maps, { kind: 'Secret', apiVersion: 'v1', metadata: { name: 'd' } }),
    post(maps, { metadata: {} }),
    { method: 'POST', path: maps, body: '{', headers: { 'content-type': 'application/json' } },
    put(`${maps}/none`, map('none', {}, { uid: 'u' })),
    remove(`${maps}/none`),
    remove(`${maps}/a`, { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'other' } }),
    patchOf('json-patch+json', [{ op: 'test', path: '/data/x', value: 'other' }]),
    patchOf('json-patch+json', [{ op: 'remove', path: '/data/none' }]),
  ])
    await step(sent);
  for (const sent of [
    put(`${maps}/a`, map('a', { data: { x: '2' } })),
    patchOf('json-patch+json', [{ op: 'add', path: '/data/y', value: '1' }]),
    patchOf('merge-patch+json', { data: { x: null }, metadata: { annotations: { a: 'b' } } }),
    patchOf('strategic-merge-patch+json', { metadata: { labels: { z: '1', of: null } } }),
    get(`${maps}/a`),
  ])
    await step(sent, written);
  const names = 'fieldSelector=metadata.name!=kube-root-ca.crt';
  await step(get(`${maps}?${names}`), listed);
  for (const query of [
    '',
    '&resourceVersion=0',
    '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
  ])
    await step(get(`${maps}?watch=true&timeoutSeconds=1&${names}${query}`), listed);
  await step(remove(`${maps}?labelSelector=of%3Dc`), listed);
  for (const name of ['a', 'b']) await step(remove(`${maps}/${name}`), (body) => [valueAt(body, ['status']) ?? null]);
}

/** Answers of writes that are not done, and that they are not. */
async function dryRuns(step: Step): Promise<void> {
  const [dry, path] = ['dryRun=All', `${maps}/dry`];
  const version = at('metadata', 'resourceVersion');
  const isNew: Pick = (body) => [written(body) ?? null, version(body) === undefined];
  await step(post(`${maps}?${dry}`, { metadata: { name: 'dry' }, data: { x: '1' } }), isNew);
  await step(
    apply(`${path}?${dry}&fieldManager=me`, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'dry' } }),
    isNew,
  );
  await step(get(path));
  await step(post(maps, { metadata: { name: 'dry' }, data: { x: '1' } }), written);
  const options = { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: ['All'] };
  for (const sent of [
    merge(`${path}?${dry}`, { data: { x: '2' } }),
    put(`${path}?${dry}`, { metadata: { name: 'dry' }, data: { x: '3' } }),
    remove(`${path}?${dry}`),
    remove(path, options),
  ]) {
    await step(sent, (body) => [written(body) ?? null, valueAt(body, ['status']) ?? null]);
    await step(get(path), written);
  }
  await step(remove(path), nothing);
}

async function namespaces(step: Step): Promise<void> {
  const path = '/api/v1/namespaces';
  const state = at('status', 'phase');
  await step(post(path, { metadata: { name: 'ending' } }), state);
  await step(post(`${path}/ending/configmaps`, { metadata: { name: 'held', finalizers: ['example.com/x'] } }), end);
  await step(remove(`${path}/ending`), state);
  for (const patch of [{ metadata: { labels: { a: 'b' } } }, { metadata: { finalizers: ['example.com/y'] } }]) {
    await step(merge(`${path}/ending`, patch));
    await step(get(`${path}/ending`), state);
  }
  await step(merge(`${path}/ending/status`, { status: { conditions: [] } }), state);
  await step(get(`${path}/ending`), state);
  await step(post(`${path}/ending/configmaps`, { metadata: { name: 'late' } }));
  await step(remove(`${path}/default`));
}

const any = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const schema = { openAPIV3Schema: { type: 'object', properties: { spec: any, status: any } } };
const version = (name: string, storage: boolean, more: JsonObject = {}) => ({
  name,
  served: true,
  storage,
  schema,
  ...more,
});

const group = 'scenarios.example.com';
const definition = (plural: string, kind: string, versions: readonly JsonObject[]): JsonObject => ({
  metadata: { name: `${plural}.${group}` },
  spec: { group, scope: 'Namespaced', names: { kind, plural }, versions },
});

async function definitions(step: Step): Promise<void> {
  const one = `${crds}/foos.scenarios.example.com`;
  const versions = [version('v1', true, { subresources: { status: {} } }), version('v1beta1', false)];
  await step(post(crds, definition('foos', 'Foo', versions)), nothing);
  await step(get(one), conditions);
  const misnamed = { ...definition('as', 'A', versions), metadata: { name: `bs.${group}` } };
  await step(post(crds, misnamed), at('reason'));
  const foos = `/apis/scenarios.example.com/v1/namespaces/${namespace}/foos`;
  await step(get(foos), nothing);
  await step(
    post(foos, { apiVersion: 'scenarios.example.com/v1', kind: 'Foo', metadata: { name: 'free' }, spec: {} }),
    end,
  );
  await step(remove(one), nothing);
  await step(get(one), nothing);
  await step(get(foos), nothing);
}

async function tokens(step: Step): Promise<void> {
  const path = `${inside}/serviceaccounts/bot/token`;
  for (const metadata of [{}, { name: 'bot', namespace }, { namespace: 'other' }])
    await step(post(path, { metadata, spec: { audiences: ['a'] } }), at('reason'));
}

async function generations(step: Step): Promise<void> {
  const labels = { a: 'b' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const workload = { spec: { selector: { matchLabels: labels }, template } };
  for (const [path, content, hasStatus] of [
    [`/apis/apps/v1/namespaces/${namespace}/deployments`, workload, true],
    [`/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`, { spec: { podSelector: {} } }, false],
    ['/apis/scheduling.k8s.io/v1/priorityclasses', { value: 1 }, false],
  ] as const) {
    await step(post(path, { metadata: { name: 'x' }, ...content }), nothing);
    for (const patch of [
      { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'u' }] } },
      ...(hasStatus ? [{ status: { x: 1 } }] : []),
      { metadata: { finalizers: ['example.com/x'] } },
    ])
      await step(merge(`${path}/x`, patch), end);
    await step(remove(`${path}/x?propagationPolicy=Background`), end);
    await step(merge(`${path}/x`, { metadata: { finalizers: null } }), end);
  }
}

async function refusals(step: Step): Promise<void> {
  const named = (more: JsonObject, metadata: JsonObject = {}): JsonObject => ({
    metadata: { name: 'r', ...metadata },
    ...more,
  });
  for (const sent of [
    post(maps, named({}, { finalizers: ['example.com/x', 'cleanup'] })),
    post(maps, named({ data: { a: 1 } })),
    apply(`${maps}/s?fieldManager=me`, { metadata: { name: 's' } }),
    apply(`${maps}/s?fieldManager=me`, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { managedFields: [] } }),
    apply(`${maps}/s?fieldManager=me`, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { uid: 'u' } }),
    put('/apis/node.k8s.io/v1/runtimeclasses/r', named({ handler: 'x' })),
  ])
    await step(sent);
}

/** Metadata alone, of an object, a list and a watch. */
async function forms(step: Step): Promise<void> {
  const kindsAndFields: Pick = (body) => {
    const [lines, items] = [isList(body) ? body : [], valueAt(body, ['items'])];
    const objects = [
      body,
      ...lines.map((event) => valueAt(event, ['object']) ?? null),
      ...(isList(items) ? items : []),
    ];
    return objects.filter(isObject).map((object) => {
      const { kind = null, apiVersion = null, metadata = null, reason = null } = object;
      const { name = null } = isObject(metadata) ? metadata : {};
      return [kind, apiVersion, name, reason, Object.keys(object).sort()];
    });
  };
  await step(post(maps, { metadata: { name: 'formed', labels: { formed: 'yes' } }, data: { a: '1' } }), nothing);
  const selected = `${maps}?labelSelector=formed`;
  for (const [kind, path] of [
    ['PartialObjectMetadata', `${maps}/formed`],
    ['PartialObjectMetadata', `${maps}/none`],
    ['PartialObjectMetadataList', selected],
  ] as const)
    await step({ ...get(path), headers: { accept: `application/json;as=${kind};g=meta.k8s.io;v=v1` } }, kindsAndFields);
  const headers = { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' };
  await step({ ...get(`${selected}&watch=true&timeoutSeconds=1`), headers }, kindsAndFields);
}
