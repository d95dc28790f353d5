// One random request after the other: most of them make sense, some are wrong in one thing.
import { isObject, type Json, type JsonObject, without } from '../../../src/testing/api/json.ts';
import { type Kind, kinds, namespaces, other, pathOf } from './kinds.ts';
import type { Random } from './random.ts';
import type { Sent, Side } from './sides.ts';

/** A request, made for each side of what that side has answered before. */
export interface Step {
  readonly make: (side: Side) => Sent;
  /** What its answer can be used for. */
  readonly gives?: { readonly kind: Kind; readonly namespace: string | undefined; readonly list?: boolean };
}

/** An earlier step that was answered with an object or a list. */
export interface Earlier {
  readonly index: number;
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly list: boolean;
}

const names = ['a', 'b', 'c', 'd', 'e'];
const merge = 'application/merge-patch+json';
const jsonPatch = 'application/json-patch+json';
const strategic = 'application/strategic-merge-patch+json';

const metaOf = (object: Json | undefined): JsonObject =>
  isObject(object) && isObject(object.metadata) ? object.metadata : {};

interface Choice {
  readonly random: Random;
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly earlier: readonly Earlier[];
}

function labels(random: Random): JsonObject {
  return {
    ...random.some(0.6, { tier: random.pick(['web', 'db']) }),
    ...random.some(0.4, { env: random.pick(['prod', 'test']) }),
  };
}

/** Metadata, wrong in something once in a while. */
function metadata({ random, name, namespace }: Choice): JsonObject {
  return without({
    name: random.weighted([
      [30, name],
      [1, 'Not_A_Name'],
      [1, '-a'],
      [1, undefined],
    ]),
    namespace: random.weighted([
      [6, undefined],
      [5, namespace],
      [1, 'other'],
    ]),
    ...random.some(0.6, { labels: labels(random) }),
    ...random.some(0.2, { annotations: { note: random.pick(['1', '2']) } }),
    ...random.some(0.15, { finalizers: random.pick([['example.com/x'], ['example.com/x', 'example.com/y'], []]) }),
    ...random.some(0.05, { labels: random.pick<JsonObject>([{ tier: '-' }, { 'a/b/c': 'x' }, { tier: 7 }]) }),
    ...random.some(0.03, { resourceVersion: '1' }),
    ...random.some(0.05, { creationTimestamp: null, uid: 'mine', generation: 7 }),
    ...random.some(0.02, {
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: random.pick(['u', '']) }],
    }),
  });
}

function create(choice: Choice): Step {
  const { random, kind, namespace, name } = choice;
  const gvk = { apiVersion: kind.apiVersion, kind: kind.kind };
  const query = random.weighted([
    [20, ''],
    [1, '?dryRun=All'],
    [1, '?dryRun=Some'],
  ]);
  // What is wrong in two things is refused for either.
  const body = random.chance(0.1)
    ? {
        ...random.pick<JsonObject>([{}, { ...gvk, kind: 'Other' }, { ...gvk, apiVersion: 'other/v1' }]),
        metadata: { name },
        ...(namespace === 'missing' ? gvk : {}),
      }
    : { ...gvk, metadata: metadata(choice), ...kind.content(random) };
  const sent = { method: 'POST', path: `${pathOf(kind, namespace)}${query}`, body };
  return { make: () => sent, gives: { kind, namespace } };
}

function get({ random, kind, namespace, name }: Choice): Step {
  const query = random.weighted([
    [6, ''],
    [1, '?resourceVersion=0'],
    [1, '?resourceVersion=1'],
  ]);
  const part = kind.status && random.chance(0.2) ? '/status' : kind.scale && random.chance(0.3) ? '/scale' : '';
  const sent = { method: 'GET', path: `${pathOf(kind, namespace)}/${name}${part}${query}` };
  return { make: () => sent, ...(part === '/scale' ? {} : { gives: { kind, namespace } }) };
}

const selectors = [
  'tier=web',
  'tier!=web',
  'tier in (web,db),!env',
  'env',
  'tier notin (db)',
  'tier=web,env=prod',
  'a b',
  'tier=-',
  'x>1',
];
const fields = [
  'metadata.name=a',
  'metadata.name!=a',
  'metadata.name=a,metadata.name=b',
  'spec.nothing=x',
  'metadata.name',
];

/** A real server has objects of its own among the others. */
const isOurs = ({ custom, plural }: Kind) => custom || plural === 'secrets';

function list({ random, kind, namespace, earlier }: Choice): Step {
  const wide = isOurs(kind) && random.chance(0.3) ? undefined : namespace;
  const query = new URLSearchParams({
    ...random.some(0.3, { labelSelector: random.pick(selectors) }),
    ...random.some(0.15, { fieldSelector: random.pick(fields) }),
    ...random.some(0.4, { limit: random.pick(['1', '2', '5', '0', 'x']) }),
    ...random.some(0.15, { resourceVersionMatch: random.pick(['Exact', 'NotOlderThan', 'Sometimes']) }),
    ...random.some(0.03, { sendInitialEvents: 'true' }),
  });
  const lists = earlier.filter((one) => one.list && one.kind === kind && one.namespace === wide).slice(-5);
  const from = lists.length > 0 && random.chance(0.5) ? random.pick(lists).index : undefined;
  const use = random.pick(['continue', 'version', 'both', 'version']);
  const version = random.pick(['', '0', '0', 'x']);
  const make = (side: Side) => {
    const mine = new URLSearchParams(query);
    const { resourceVersion, continue: token } = from === undefined ? {} : metaOf(side.answers[from]);
    if (use !== 'version' && typeof token === 'string') mine.set('continue', token);
    if (use !== 'continue' && typeof resourceVersion === 'string') mine.set('resourceVersion', resourceVersion);
    else if (version !== '' && from === undefined) mine.set('resourceVersion', version);
    return { method: 'GET', path: `${pathOf(kind, wide)}?${mine}` };
  };
  return { make, gives: { kind, namespace: wide, list: true } };
}

/** A watch from an earlier version, or of what is there; it ends after a second. */
function watch({ random, kind, namespace, earlier }: Choice): Step {
  const wide = isOurs(kind) && random.chance(0.3) ? undefined : namespace;
  const query = new URLSearchParams({
    watch: random.pick(['true', '1']),
    timeoutSeconds: '1',
    ...random.some(0.3, { labelSelector: random.pick(selectors) }),
    ...random.some(0.1, { fieldSelector: random.pick(fields) }),
    ...random.some(0.2, { allowWatchBookmarks: 'true' }),
    ...random.pick<Readonly<Record<string, string>>>([
      {},
      {},
      { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: 'true' },
      { sendInitialEvents: 'false', resourceVersionMatch: 'NotOlderThan' },
      { sendInitialEvents: 'true' },
      { resourceVersionMatch: 'NotOlderThan' },
    ]),
  });
  const lists = earlier.filter((one) => one.list && one.kind === kind);
  const from = lists.length > 0 && random.chance(0.7) ? random.pick(lists).index : undefined;
  const version = random.pick(['', '0', 'x']);
  const make = (side: Side) => {
    const mine = new URLSearchParams(query);
    const { resourceVersion } = from === undefined ? { resourceVersion: version } : metaOf(side.answers[from]);
    if (typeof resourceVersion === 'string' && resourceVersion !== '') mine.set('resourceVersion', resourceVersion);
    return { method: 'GET', path: `${pathOf(kind, wide)}?${mine}` };
  };
  return { make };
}

/** An object of an earlier answer, changed. */
function put({ random, kind: anyKind, earlier, name }: Choice): Step | undefined {
  const objects = earlier.filter((one) => !one.list && (one.kind === anyKind || random.chance(0.2)));
  if (objects.length === 0) return undefined;
  const { index, kind, namespace } = random.chance(0.7)
    ? (objects.at(-1) ?? random.pick(objects))
    : random.pick(objects);
  const change = {
    ...random.some(0.5, { labels: labels(random) }),
    ...random.some(0.15, { finalizers: random.pick([[], ['example.com/x'], ['example.com/z']]) }),
    ...random.some(0.15, { resourceVersion: random.pick([undefined, '1']) }),
    ...random.some(0.04, { uid: 'other' }),
    ...random.some(0.04, { name }),
    ...random.some(0.04, { namespace: 'other' }),
    ...random.some(0.05, {
      generation: 9,
      deletionTimestamp: '2000-01-01T00:00:00Z',
      creationTimestamp: '2000-01-01T00:00:00Z',
    }),
  };
  const content = random.chance(0.7) ? kind.content(random) : {};
  const part = kind.status && random.chance(0.3) ? '/status' : '';
  const query = random.chance(0.05) ? '?dryRun=All' : '';
  const make = (side: Side) => {
    const object = side.answers[index];
    const body = {
      ...(isObject(object) ? object : {}),
      ...content,
      metadata: without({ ...metaOf(object), ...change }),
    };
    return { method: 'PUT', path: `${pathOf(kind, namespace)}/${String(metaOf(object).name)}${part}${query}`, body };
  };
  return { make, gives: { kind, namespace } };
}

function patch({ random, kind, namespace, name }: Choice): Step {
  const part = kind.status && random.chance(0.25) ? '/status' : kind.scale && random.chance(0.3) ? '/scale' : '';
  const merged = {
    ...random.some(0.7, {
      metadata: {
        ...random.some(0.5, { labels: random.pick<Json>([null, { tier: null }, labels(random)]) }),
        ...random.some(0.3, { annotations: { note: random.pick(['1', '3', null]) } }),
        ...random.some(0.2, { finalizers: random.pick<Json>([null, [], ['example.com/x']]) }),
        ...random.some(0.05, { resourceVersion: '1' }),
        ...random.some(0.03, { name: 'other' }),
      },
    }),
    ...(part === '/scale' ? { spec: { replicas: other(random) } } : kind.content(random)),
  };
  const operations = [
    random.pick<JsonObject>([
      { op: 'add', path: '/metadata/labels', value: labels(random) },
      { op: 'replace', path: '/metadata/labels/tier', value: 'db' },
      { op: 'remove', path: '/metadata/labels/tier' },
      { op: 'test', path: '/metadata/name', value: random.pick(['a', 'b']) },
      { op: 'add', path: '/metadata/finalizers/-', value: 'example.com/y' },
      { op: 'remove', path: '/metadata/finalizers/0' },
      { op: 'replace', path: '/metadata/uid', value: 'other' },
      { op: 'copy', from: '/metadata/name', path: '/metadata/annotations' },
    ]),
    ...random.pick<readonly JsonObject[]>([[], [{ op: 'add', path: '/metadata/annotations', value: { note: '4' } }]]),
  ];
  const type = random.weighted([
    [5, merge],
    [part === '/scale' ? 0 : 4, jsonPatch],
    [3, strategic],
    [1, 'application/json'],
  ]);
  const body = random.chance(0.03) ? '{' : type === jsonPatch ? operations : merged;
  const query = random.weighted([
    [15, ''],
    [1, '?dryRun=All'],
    [1, '?force=true'],
  ]);
  const sent = {
    method: 'PATCH',
    path: `${pathOf(kind, namespace)}/${name}${part}${query}`,
    body,
    headers: { 'content-type': type },
  };
  return { make: () => sent, ...(part === '/scale' ? {} : { gives: { kind, namespace } }) };
}

function remove({ random, kind, namespace, name, earlier }: Choice): Step {
  const objects = earlier.filter((one) => !one.list && one.kind === kind && one.namespace === namespace);
  const from = objects.length > 0 && random.chance(0.3) ? random.pick(objects).index : undefined;
  const precondition = random.pick(['uid', 'resourceVersion']);
  const options = random.weighted<JsonObject | undefined>([
    [12, undefined],
    [2, { gracePeriodSeconds: 0 }],
    [1, { propagationPolicy: 'Background' }],
    [1, { propagationPolicy: 'Sometimes' }],
    [1, { preconditions: { uid: 'other' } }],
    [1, { dryRun: ['All'] }],
  ]);
  const make = (side: Side) => {
    const meta = from === undefined ? undefined : metaOf(side.answers[from]);
    const path = `${pathOf(kind, namespace)}/${meta ? String(meta.name) : name}`;
    const body = meta ? { preconditions: { [precondition]: meta[precondition] } } : options;
    return { method: 'DELETE', path, ...(body === undefined ? {} : { body }) };
  };
  return { make };
}

function removeAll({ random, kind, namespace }: Choice): Step {
  const sent = {
    method: 'DELETE',
    path: `${pathOf(kind, namespace)}?labelSelector=${random.pick(['tier%3Dweb', 'tier%3Ddb'])}`,
  };
  return { make: () => sent };
}

function odd({ random, kind, namespace, name }: Choice): Step {
  const root = pathOf(kind, namespace);
  const sent = random.pick<Sent>([
    // A custom resource takes a POST to an object for one to its collection.
    { method: kind.custom ? 'GET' : 'POST', path: `${root}/${name}`, ...(kind.custom ? {} : { body: {} }) },
    { method: 'PUT', path: root, body: {} },
    { method: 'PATCH', path: root, body: {}, headers: { 'content-type': merge } },
    { method: 'GET', path: `${root}/${name}/nothing` },
    { method: 'GET', path: '/apis/none.example.com/v1/things' },
    { method: 'GET', path: '/api/v1/nothing' },
    { method: 'GET', path: '/nothing' },
    { method: 'GET', path: `/api/v1/configmaps/${name}` },
    { method: 'DELETE', path: '/api/v1/configmaps' },
    { method: 'DELETE', path: '/api/v1/namespaces' },
    { method: 'POST', path: root, body: 'x', headers: { 'content-type': 'text/plain' } },
    { method: 'POST', path: root, body: '{', headers: { 'content-type': 'application/json' } },
    { method: 'GET', path: root, headers: { accept: 'text/html' } },
    {
      method: 'GET',
      path: root,
      headers: { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' },
    },
    {
      method: 'GET',
      path: `${root}/${name}`,
      headers: { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' },
    },
    {
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: {},
      headers: { 'impersonate-user': 'jane', 'impersonate-group': 'dev' },
    },
    {
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: {},
      headers: { 'impersonate-user': 'system:serviceaccount:x:y' },
    },
    {
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: {},
      headers: { 'impersonate-group': 'dev' },
    },
    {
      method: 'POST',
      path: `/api/v1/namespaces/${namespaces[0]}/serviceaccounts/${name}/token`,
      body: { spec: { expirationSeconds: random.pick([600, 599, 3600]) } },
    },
  ]);
  return { make: () => sent };
}

/** The next request. */
export function nextStep(random: Random, earlier: readonly Earlier[]): Step {
  const kind = random.pick(kinds);
  const inside = random.weighted([
    [10, namespaces[0]],
    [4, namespaces[1]],
    [1, 'missing'],
  ]);
  const choice = { random, kind, namespace: kind.namespaced ? inside : undefined, name: random.pick(names), earlier };
  const make = random.weighted<(choice: Choice) => Step | undefined>([
    [22, create],
    [8, get],
    [15, list],
    [16, put],
    [18, patch],
    [8, remove],
    [1, removeAll],
    [4, watch],
    [5, odd],
  ]);
  return make(choice) ?? create(choice);
}
