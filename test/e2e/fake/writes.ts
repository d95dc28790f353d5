// Requests that write, wrong in something once in a while.
import { isObject, type Json, type JsonObject, without } from '../../../src/testing/api/json.ts';
import type { Random } from '../../fixtures/random.ts';
import { type Choice, metaOf, type Step } from './choice.ts';
import { pathOf } from './kinds.ts';
import type { Side } from './sides.ts';

const merge = 'application/merge-patch+json';
const jsonPatch = 'application/json-patch+json';
const strategic = 'application/strategic-merge-patch+json';

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

export function create(choice: Choice): Step {
  const { random, kind, namespace, name } = choice;
  const gvk = { apiVersion: kind.apiVersion, kind: kind.kind };
  // What is wrong in two things is refused for either.
  const body = random.chance(0.1)
    ? {
        ...random.pick<JsonObject>([{}, { ...gvk, kind: 'Other' }, { ...gvk, apiVersion: 'other/v1' }]),
        metadata: { name },
        ...(namespace === 'missing' ? gvk : {}),
      }
    : { ...gvk, metadata: metadata(choice), ...kind.content(random) };
  const sent = { method: 'POST', path: pathOf(kind, namespace), body };
  return { make: () => sent, gives: { kind, namespace } };
}

/** An object of an earlier answer, changed. */
export function put({ random, kind: anyKind, earlier, name }: Choice): Step | undefined {
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
  const make = (side: Side) => {
    const object = side.answers[index];
    const body = {
      ...(isObject(object) ? object : {}),
      ...content,
      metadata: without({ ...metaOf(object), ...change }),
    };
    return { method: 'PUT', path: `${pathOf(kind, namespace)}/${String(metaOf(object).name)}${part}`, body };
  };
  return { make, gives: { kind, namespace } };
}

export function patch({ random, kind, namespace, name }: Choice): Step {
  const part = kind.status && random.chance(0.25) ? '/status' : '';
  const type = random.weighted([
    [5, merge],
    [4, jsonPatch],
    [3, strategic],
    [1, 'application/json'],
  ]);
  const merged = {
    ...random.some(0.7, {
      metadata: {
        ...random.some(0.5, { labels: random.pick<Json>([null, { tier: null }, labels(random)]) }),
        ...random.some(0.3, { annotations: { note: random.pick(['1', '3', null]) } }),
        // The fake merges no lists.
        ...random.some(type === strategic ? 0 : 0.2, { finalizers: random.pick<Json>([null, [], ['example.com/x']]) }),
        ...random.some(0.05, { resourceVersion: '1' }),
        ...random.some(0.03, { name: 'other' }),
      },
    }),
    ...kind.content(random),
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
  const body = random.chance(0.03) ? '{' : type === jsonPatch ? operations : merged;
  const sent = {
    method: 'PATCH',
    path: `${pathOf(kind, namespace)}/${name}${part}`,
    body,
    headers: { 'content-type': type },
  };
  return { make: () => sent, gives: { kind, namespace } };
}

/** Server-side apply, by one of two managers. */
export function apply({ random, kind, namespace, name }: Choice): Step | undefined {
  // A real server refuses a Lease with a wrong time in another way, and makes a spec null that has lost its last field.
  if (['Lease', 'Gadget'].includes(kind.kind)) return undefined;
  const part = kind.status && random.chance(0.25) ? '/status' : '';
  const { stringData: _, ...content } = kind.content(random);
  const body = {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    // A real server also knows who owns an empty map.
    metadata: {
      name,
      ...random.some(0.5, { labels: { env: 'prod', ...labels(random) } }),
      ...random.some(0.2, { annotations: { note: random.pick(['1', '2']) } }),
    },
    ...content,
  };
  const query = `fieldManager=${random.pick(['one', 'two'])}${random.chance(0.3) ? '&force=true' : ''}`;
  const sent = {
    method: 'PATCH',
    path: `${pathOf(kind, namespace)}/${name}${part}?${query}`,
    body,
    headers: { 'content-type': 'application/apply-patch+yaml' },
  };
  return { make: () => sent, gives: { kind, namespace } };
}

export function remove({ random, kind, namespace, name, earlier }: Choice): Step {
  const objects = earlier.filter((one) => !one.list && one.kind === kind && one.namespace === namespace);
  const from = objects.length > 0 && random.chance(0.3) ? random.pick(objects).index : undefined;
  const precondition = random.pick(['uid', 'resourceVersion']);
  const options = random.weighted<JsonObject | undefined>([
    [12, undefined],
    [2, { gracePeriodSeconds: 0 }],
    [1, { propagationPolicy: 'Background' }],
    [1, { preconditions: { uid: 'other' } }],
  ]);
  const make = (side: Side) => {
    const meta = from === undefined ? undefined : metaOf(side.answers[from]);
    const path = `${pathOf(kind, namespace)}/${meta ? String(meta.name) : name}`;
    const body = meta ? { preconditions: { [precondition]: meta[precondition] } } : options;
    return { method: 'DELETE', path, ...(body === undefined ? {} : { body }) };
  };
  return { make };
}

export function removeAll({ random, kind, namespace }: Choice): Step {
  const sent = {
    method: 'DELETE',
    path: `${pathOf(kind, namespace)}?labelSelector=${random.pick(['tier%3Dweb', 'tier%3Ddb'])}`,
  };
  return { make: () => sent };
}
