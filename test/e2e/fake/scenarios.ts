// What the random requests do not draw: objects that end, definitions, tokens, generations, and what single kinds refuse. Of each
// answer what the step is about is compared, as kinds such as Pod have defaults that the fake does not know.
import { isDeepStrictEqual } from 'node:util';
import { isList, isObject, type Json, type JsonObject, valueAt } from '../../../src/testing/api/json.ts';
import type { Sent, Side } from './sides.ts';

type Pick = (body: Json) => Json | undefined;

const namespace = 'scenarios';
const inside = `/api/v1/namespaces/${namespace}`;
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** A real server follows a definition in its own time. */
const waitMs = 20_000;

const post = (path: string, body: JsonObject): Sent => ({ method: 'POST', path, body });
const get = (path: string): Sent => ({ method: 'GET', path });
const remove = (path: string, body?: JsonObject): Sent => ({ method: 'DELETE', path, ...(body ? { body } : {}) });
const merge = (path: string, body: JsonObject, headers: Readonly<Record<string, string>> = {}): Sent => ({
  method: 'PATCH',
  path,
  body,
  headers: { 'content-type': 'application/merge-patch+json', ...headers },
});
const apply = (path: string, body: JsonObject): Sent => ({
  ...merge(path, body),
  headers: { 'content-type': 'application/apply-patch+yaml' },
});

const at =
  (...path: readonly string[]): Pick =>
  (body) =>
    valueAt(body, path);
const nothing: Pick = () => null;
/** What of an object's metadata its end is about. */
const end: Pick = (body) => {
  const meta = valueAt(body, ['metadata']);
  if (!isObject(meta)) return null;
  const { finalizers = null, deletionGracePeriodSeconds: seconds = null, generation = null } = meta;
  return [finalizers, meta.deletionTimestamp !== undefined, seconds, generation, valueAt(body, ['kind']) ?? null];
};
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

/** What an object holds, and who manages it. */
const managed: Pick = (body) => {
  const { apiVersion: _, kind: __, metadata, ...content } = isObject(body) ? body : {};
  const { labels = null, finalizers = null, generation = null } = isObject(metadata) ? metadata : {};
  return [valueAt(body, ['message']) ?? content, labels, finalizers, generation, managersOf(body)];
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

/** Why something was refused, and where. */
const refusal: Pick = (body) => {
  const causes = valueAt(body, ['details', 'causes']);
  const fields = isList(causes) ? causes.map((one) => String(valueAt(one, ['field']))) : [];
  return [valueAt(body, ['reason']) ?? null, ...[...new Set(fields)].sort()];
};
const conditions: Pick = (body) => {
  const all = valueAt(body, ['status', 'conditions']);
  return (isList(all) ? all : []).map((one) => `${valueAt(one, ['type'])} ${valueAt(one, ['status'])}`).sort();
};

/** Sends the same to both, and compares. Gives how many answers were compared. */
export async function compareScenarios(sides: readonly [real: Side, fake: Side]): Promise<number> {
  let compared = 0;
  const step = async (sent: Sent, pick: Pick = refusal) => {
    compared += 1;
    const ask = async (side: Side) => {
      const { code, body } = await side.send(sent);
      return { code, picked: pick(body) ?? null, body };
    };
    const until = Date.now() + waitMs;
    for (;;) {
      const [theirs, ours] = [await ask(sides[0]), await ask(sides[1])];
      const same = theirs.code === ours.code && isDeepStrictEqual(theirs.picked, ours.picked);
      if (same) return;
      if (sent.method === 'GET' && Date.now() < until) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        continue;
      }
      const told = [sent, theirs, ours].map((one) => JSON.stringify(one)).join('\n  ');
      throw new Error(`a scenario's request is answered differently\n  ${told}`);
    }
  };
  await step(post('/api/v1/namespaces', { metadata: { name: namespace } }), nothing);
  for (const name of ['default', 'bot']) await step(post(`${inside}/serviceaccounts`, { metadata: { name } }), nothing);
  await namespaces(step);
  await definitions(step);
  await tokens(step);
  await generations(step);
  await refusals(step);
  await applies(step);
  await forms(step);
  return compared;
}

type Step = (sent: Sent, pick?: Pick) => Promise<void>;

async function namespaces(step: Step): Promise<void> {
  const path = '/api/v1/namespaces';
  const state = at('status', 'phase');
  await step(post(path, { metadata: { name: 'ending' } }), state);
  await step(post(`${path}/ending/configmaps`, { metadata: { name: 'held', finalizers: ['example.com/x'] } }), end);
  await step(remove(`${path}/ending`), state);
  for (const patch of [{ metadata: { labels: { a: 'b' } } }, { metadata: { finalizers: ['example.com/y'] } }]) {
    await step(merge(`${path}/ending`, patch), refusal);
    await step(get(`${path}/ending`), state);
  }
  await step(merge(`${path}/ending/status`, { status: { conditions: [] } }), state);
  await step(get(`${path}/ending`), state);
  await step(post(`${path}/ending/configmaps`, { metadata: { name: 'late' } }));
  for (const name of ['default', 'kube-system', 'kube-public']) await step(remove(`${path}/${name}`));
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

function definition(plural: string, kind: string, more: JsonObject = {}): JsonObject {
  const group = String(more.group ?? 'scenarios.example.com');
  const names = { kind, plural };
  return {
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: 'Namespaced', names, versions: [version('v1', true)], ...more },
  };
}

async function definitions(step: Step): Promise<void> {
  const one = `${crds}/foos.scenarios.example.com`;
  const versions = [version('v1', true, { subresources: { status: {} } }), version('v1beta1', false)];
  await step(post(crds, definition('foos', 'Foo', { versions })), nothing);
  await step(get(one), conditions);
  await step(post(crds, { ...definition('as', 'A'), metadata: { name: 'bs.scenarios.example.com' } }), at('reason'));
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
  const apps = `/apis/apps/v1/namespaces/${namespace}`;
  for (const [path, content, hasStatus] of [
    [`${apps}/deployments`, workload, true],
    [`${apps}/replicasets`, workload, true],
    [`${apps}/statefulsets`, { spec: { serviceName: 's', ...workload.spec } }, true],
    [`${apps}/daemonsets`, workload, true],
    [`${inside}/podtemplates`, { template }, false],
    [`${inside}/replicationcontrollers`, { spec: { selector: labels, template } }, true],
    [
      `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`,
      { spec: { selector: { matchLabels: labels } } },
      true,
    ],
    [`/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`, { spec: { podSelector: {} } }, false],
    [`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, { addressType: 'IPv4', endpoints: [] }, false],
    ['/apis/scheduling.k8s.io/v1/priorityclasses', { value: 1 }, false],
    ['/apis/networking.k8s.io/v1/ingressclasses', { spec: { controller: 'example.com/x' } }, false],
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
  const maps = `${inside}/configmaps`;
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
    { method: 'PUT', path: '/apis/node.k8s.io/v1/runtimeclasses/r', body: named({ handler: 'x' }) },
  ])
    await step(sent);
  await step(post(maps, { metadata: { name: 'kept', labels: { a: null }, more: 1 } }), (body) => [
    valueAt(body, ['metadata', 'labels']) ?? null,
    valueAt(body, ['metadata', 'more']) ?? null,
  ]);
}

/** Server-side apply, by several managers. */
async function applies(step: Step): Promise<void> {
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
    by('two', { data: { u: '1' } }, { uid: 'u' }),
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

/** Metadata alone, of an object, a list and a watch. */
async function forms(step: Step): Promise<void> {
  const maps = `${inside}/configmaps`;
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
  for (const kind of ['PartialObjectMetadata', 'PartialObjectMetadataList']) {
    const headers = { accept: `application/json;as=${kind};g=meta.k8s.io;v=v1` };
    for (const path of [`${maps}/formed`, `${maps}/none`, selected]) {
      await step({ ...get(path), headers }, kindsAndFields);
    }
  }
  const headers = { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' };
  await step({ ...get(`${selected}&watch=true&timeoutSeconds=1`), headers }, kindsAndFields);
}
