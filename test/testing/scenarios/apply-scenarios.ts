// Server-side apply, by several managers.
import { isList, isObject, type Json, type JsonObject, valueAt } from '../../../src/testing/api/json.ts';
import { apply, inside, merge, namespace, type Pick, post, type Step } from './scenario.ts';

/** Who manages which values of an object, or of a part of it. Names of maps and lists alone are left out. */
function managersOf(body: Json, part: readonly string[] = []): readonly string[] {
  const entries = valueAt(body, ['metadata', 'managedFields']);
  const managers = (isList(entries) ? entries : []).map((entry) => {
    const { manager = null, operation = null, subresource = null, fieldsV1 = null } = isObject(entry) ? entry : {};
    const fields = valueAt(
      fieldsV1,
      part.map((name) => `f:${name}`),
    );
    return [manager, operation, subresource, ...valuesIn(fields ?? null, valueAt(body, part)).toSorted()];
  });
  const found = managers.filter(({ length }) => length > 3).map((one) => JSON.stringify(one));
  return found.sort();
}

/** Why it was refused, each reason once. */
const causesOf: Pick = (body) => {
  const causes = valueAt(body, ['details', 'causes']);
  const fields = ['field', 'reason', 'message'];
  return [
    ...new Set((isList(causes) ? causes : []).map((one) => fields.map((name) => valueAt(one, [name])).join(' '))),
  ];
};

/** What an object holds, and who manages it. */
const managed: Pick = (body) => {
  const { apiVersion: _, kind: __, metadata, ...content } = isObject(body) ? body : {};
  const { labels = null, finalizers = null, generation = null } = isObject(metadata) ? metadata : {};
  return [
    valueAt(body, ['message']) ?? content,
    causesOf(body) ?? null,
    labels,
    finalizers,
    generation,
    managersOf(body),
  ];
};

/** The paths in `fieldsV1` of what is neither an object nor taken apart. */
function valuesIn(fields: Json, value: Json | undefined, path = ''): readonly string[] {
  if (!isObject(value) && !isList(value)) return value === undefined ? [] : [path];
  const inner = Object.entries(isObject(fields) ? fields : {}).filter(([name]) => name !== '.');
  if (isList(value) && inner.length === 0) return [path];
  return inner.flatMap(([name, child = null]) => {
    const field = name.slice(2);
    const found = name.startsWith('f:') ? valueAt(value, [field]) : itemOf(value, name);
    return valuesIn(child, found, `${path}/${name}`);
  });
}

function itemOf(list: Json, name: string): Json | undefined {
  const wanted = Object.entries(JSON.parse(name.slice(2)));
  if (!isList(list)) return undefined;
  if (name.startsWith('v:')) return JSON.parse(name.slice(2));
  return list.find((item) => wanted.every(([key, value]) => (valueAt(item, [key]) ?? 'TCP') === value));
}

export async function applies(step: Step): Promise<void> {
  const map = `${inside}/configmaps/applied`;
  const by = (manager: string, body: JsonObject, metadata: JsonObject = {}, more = '') =>
    apply(`${map}?fieldManager=${manager}${more}`, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'applied', ...metadata },
      ...body,
    });
  const owner = (uid: string, name: string) => ({ ownerReferences: [{ apiVersion: 'v1', kind: 'X', name, uid }] });
  for (const sent of [
    post(`${inside}/configmaps?fieldManager=maker`, {
      metadata: { name: 'applied', labels: { x: 'y' } },
      data: { k: 'v' },
    }),
    by('one', { data: { k: 'w', n: '1' } }),
    by('one', { data: { k: 'w', n: '1' } }, {}, '&force=true'),
    by('two', { data: { n: '1' } }),
    by('two', { data: { n: '2', k: 'z' } }),
    by('one', { data: {} }),
    by('two', {}),
    merge(`${map}?fieldManager=merger`, { data: { p: 'q' }, metadata: { finalizers: ['example.com/a'] } }),
    by('two', { data: { p: 'q', r: 's' } }, { finalizers: ['example.com/b'] }),
    merge(`${map}?fieldManager=merger`, { data: { r: 't' } }),
    by('two', { data: { p: 'q', r: 's' } }, { finalizers: ['example.com/b'] }),
    by('two', {}),
    by('one', {}, { ...owner('u1', 'x'), labels: { a: 'b', 'example.com/c': 'd' } }),
    by('two', {}, owner('u2', 'y')),
    by('two', {}, owner('u1', 'z')),
    by('two', {}, { labels: { a: 'c', 'example.com/c': 'e' } }),
    by('two', {}, { finalizers: ['example.com/a'] }),
    by('one', {}),
    { method: 'PUT', path: `${map}?fieldManager=putter`, body: { metadata: { name: 'applied' }, data: { p: 'r' } } },
    merge(map, { data: { ua: '1' } }, { 'user-agent': 'program/1.0 (linux)' }),
    by('two', { data: { u: '1' } }, { resourceVersion: '1' }),
    by('two', { data: { u: '1' } }, { name: 'other' }),
    by('two', { data: { u: '1' } }, { namespace: 'other' }),
  ])
    await step(sent, managed);
  await keyedLists(step);
  await statuses(step);
}

/** Lists whose items have keys. */
async function keyedLists(step: Step): Promise<void> {
  const labels = { a: 'b' };
  const by = (manager: string, containers: readonly JsonObject[], more = '') => {
    const whole = manager === 'one' ? { selector: { matchLabels: labels } } : {};
    return apply(`/apis/apps/v1/namespaces/${namespace}/deployments/applied?fieldManager=${manager}${more}`, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'applied' },
      spec: { ...whole, template: { metadata: { labels }, spec: { containers } } },
    });
  };
  // Without what a real server fills in, and the selector, which is an atomic map.
  const values: Pick = (body) => {
    const pod = valueAt(body, ['spec', 'template', 'spec']);
    const containers = valueAt(pod, ['containers']);
    const picked = (isList(containers) ? containers : []).map((one) => {
      const { name = null, image = null, args = null, env = null } = isObject(one) ? one : {};
      return [name, image, args, env];
    });
    const managers = managersOf(body, ['spec', 'template']);
    return [valueAt(body, ['message']) ?? null, picked, managers];
  };
  const env = (value: string) => ({ env: [{ name: 'E', value }] });
  const b = { name: 'b', image: 'i' };
  for (const sent of [
    by('one', [{ name: 'a', image: 'i', ports: [{ containerPort: 80 }], args: ['x', 'y'], ...env('1') }]),
    by('two', [{ ...b, ...env('1') }]),
    by('two', [{ name: 'a', args: ['z'], ports: [{ containerPort: 80, name: 'http' }] }]),
    by('two', [{ name: 'a', ...env('2') }]),
    by('two', [{ name: 'a', ...env('2') }, b], '&force=true'),
    by('one', [{ name: 'a', image: 'j' }]),
    by('two', [{ name: 'a', env: [{ name: 'F', value: '3' }] }]),
    by('two', [{ name: 'a' }]),
  ])
    await step(sent, values);
}

/** A status of a custom kind, whose conditions have a schema, and what is applied along with it. */
async function statuses(step: Step): Promise<void> {
  const profile = `/apis/multicluster.x-k8s.io/v1alpha1/namespaces/${namespace}/clusterprofiles/applied`;
  const by = (manager: string, part: '' | '/status', body: JsonObject, more = '') =>
    apply(`${profile}${part}?fieldManager=${manager}${more}`, {
      apiVersion: 'multicluster.x-k8s.io/v1alpha1',
      kind: 'ClusterProfile',
      metadata: { name: 'applied', labels: { 'x-k8s.io/cluster-manager': manager } },
      ...body,
    });
  const ready = (type: string, status: string) => ({
    status: {
      conditions: [{ type, status, reason: 'R', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    },
  });
  for (const sent of [
    by('one', '/status', ready('Joined', 'True')),
    by('one', '', { spec: { clusterManager: { name: 'm' } }, ...ready('Joined', 'True') }),
    by('one', '/status', ready('Joined', 'True')),
    by('two', '/status', ready('ControlPlaneHealthy', 'True')),
    by('two', '/status', ready('Joined', 'False')),
    by('two', '/status', ready('Joined', 'False'), '&force=true'),
    merge(`${profile}/status?fieldManager=three`, { status: { version: { kubernetes: '1' } } }),
    by('one', '/status', ready('Joined', 'False')),
    by('two', '/status', {}),
    by('one', '/status', { status: { version: { kubernetes: '2' } } }),
    by('one', '', { spec: { clusterManager: { name: 'm' }, displayName: 'd' } }),
  ])
    await step(sent, managed);
}
