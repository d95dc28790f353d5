// Writes that a server refuses or completes, what selects, and pages.
import { isList, type Json, type JsonObject, valueAt } from '../../../src/testing/api/json.ts';
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
  post,
  put,
  remove,
  type Step,
} from './scenario.ts';

const versionOf = (body: Json | undefined) => String(valueAt(body ?? null, ['metadata', 'resourceVersion']));
/** An object that was answered, with other metadata and content. */
const changed = (body: Json | undefined, metadata: JsonObject, more: JsonObject = {}): JsonObject => {
  const object = Object(body) as JsonObject;
  return { ...object, metadata: { ...(object.metadata as JsonObject), ...metadata }, ...more };
};

export async function writes(step: Step): Promise<void> {
  await posts(step);
  await puts(step);
  await deletes(step);
  await leases(step);
  await statuses(step);
  await patchTypes(step);
  await wrongPaths(step);
}

async function posts(step: Step): Promise<void> {
  const owner = (uid: string) => ({ apiVersion: 'v1', kind: 'Pod', name: 'p', uid, controller: true });
  await step(post(maps, map('there', { data: { x: '1' }, immutable: null }, { uid: 'mine', labels: {} })), (body) => [
    Object.keys(Object(body)).sort(),
    Object.keys(Object(valueAt(body, ['metadata']))).sort(),
    valueAt(body, ['metadata', 'uid']) !== 'mine',
  ]);
  for (const body of [
    map('there'),
    map('Not_A_Name'),
    map('l', {}, { labels: { 'a/b/c': '-' } }),
    map('l', {}, { labels: { a: 1 } }),
    { ...map('v'), apiVersion: 'v2' },
    map('n', {}, { namespace: 'kube-system' }),
    map('r', {}, { resourceVersion: '1' }),
    ['a'],
    map('o', {}, { ownerReferences: [owner('1'), owner('2')] }),
    map('o', {}, { ownerReferences: [owner('')] }),
  ])
    await step(post(maps, body as JsonObject)); // a list is wrong on purpose
  await step(post('/api/v1/namespaces/nowhere/configmaps', map('a')), at('message'));
  await step(post(maps, map('', {}, { name: null, generateName: 'run-' })), (body) =>
    /^run-[a-z0-9]{5}$/.test(String(valueAt(body, ['metadata', 'name']))),
  );
  const owned = { ownerReferences: [{ ...owner('u'), controller: false, more: 1 }] };
  await step(post(maps, map('owned', {}, owned)), at('metadata', 'ownerReferences'));
  const secret = { metadata: { name: 's' }, data: { a: 'eA==' }, stringData: { b: 'yz' } };
  await step(post(`${inside}/secrets`, secret), (body) =>
    ['type', 'data', 'stringData'].map((one) => valueAt(body, [one]) ?? null),
  );
}

async function puts(step: Step): Promise<void> {
  const path = `${maps}/put`;
  await step(post(maps, map('put', { data: { x: '1', y: '2' } })), at('data'));
  // The same is no new version.
  await step(
    (answers) => put(path, changed(answers.at(-1), {}, { data: { y: '2', x: '1' } })),
    at('metadata', 'resourceVersion'),
    (version, before) => version === versionOf(before),
  );
  await step((answers) => put(path, changed(answers.at(-1), {}, { data: { x: '2' } })), at('data'));
  // Of the newest version, so that nothing else is wrong.
  for (const metadata of [{ name: 'b' }, { namespace: 'kube-system' }, { uid: 'other' }])
    await step((answers) => put(path, changed(answers.findLast(isMap('put')), metadata)));
  // Of the first one, which is no longer the newest.
  await step((answers) => put(path, changed(answers.find(isMap('put')), {}, { data: { x: '3' } })), at('message'));
  await step(put(path, map('put', {}, { creationTimestamp: '2000-01-01T00:00:00Z', generation: 7 })), (body) => [
    String(valueAt(body, ['metadata', 'creationTimestamp'])).startsWith('2000'),
    valueAt(body, ['metadata', 'generation']) ?? null,
  ]);
  await step(put(`${maps}/none`, map('none')), at('message'));
}

const isMap = (name: string) => (body: Json) => valueAt(body, ['metadata', 'name']) === name;

async function deletes(step: Step): Promise<void> {
  const path = `${maps}/held`;
  const options = (more: JsonObject) => remove(path, { kind: 'DeleteOptions', apiVersion: 'v1', ...more });
  const two = ['example.com/x', 'example.com/y'];
  await step(post(maps, map('held', {}, { finalizers: two.slice(0, 1) })), at('metadata', 'finalizers'));
  await step((answers) => options({ preconditions: { uid: uidOf(answers.at(-1)), resourceVersion: '1' } }));
  const marked = (body: Json) => valueAt(body, ['metadata', 'deletionTimestamp']) !== undefined;
  await step(remove(path), marked);
  // A second one changes nothing.
  await step(remove(path), at('metadata', 'resourceVersion'), (version, before) => version === versionOf(before));
  await step((answers) => put(path, changed(answers.at(-1), { finalizers: two })));
  await step((answers) => put(path, changed(answers.findLast(isMap('held')), { deletionTimestamp: null })), marked);
  await step((answers) => put(path, changed(answers.at(-1), { finalizers: [] })), at('metadata', 'finalizers'));
  await step(get(path));
  await step(post(maps, map('exact')), at('kind'));
  const exact = (answers: readonly Json[]) => {
    const preconditions = { uid: uidOf(answers.at(-1)), resourceVersion: versionOf(answers.at(-1)) };
    return remove(`${maps}/exact`, { kind: 'DeleteOptions', apiVersion: 'v1', preconditions });
  };
  await step(exact);
  for (const where of ['/api/v1/namespaces', '/api/v1/configmaps']) await step(remove(where));
  await step(remove(`${inside}/serviceaccounts/default`), at('kind'));
}

const uidOf = (body: Json | undefined) => String(valueAt(body ?? null, ['metadata', 'uid']));

async function leases(step: Step): Promise<void> {
  const all = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  const lease = (renewTime: string, metadata: JsonObject = {}) => ({
    metadata: { name: 'l', ...metadata },
    spec: { holderIdentity: 'h', leaseDurationSeconds: 15, renewTime },
  });
  const renewed = at('spec', 'renewTime');
  await step(put(`${all}/l`, lease('2026-01-01T00:00:00.123456Z')), renewed);
  await step(put(`${all}/l`, lease('2026-01-01T00:00:01.000000Z')));
  const stale = (answers: readonly Json[]) => versionOf(answers.find(isMap('l')));
  for (const time of ['2026-01-01T00:00:01.000000Z', '2026-01-01T00:00:02.000000Z'])
    await step((answers) => put(`${all}/l`, lease(time, { resourceVersion: stale(answers) })), renewed);
  await step(post(all, lease('2026-01-01T00:00:00.123Z')));
}

async function statuses(step: Step): Promise<void> {
  const path = `/apis/multicluster.x-k8s.io/v1alpha1/namespaces/${namespace}/clusterprofiles`;
  const told = (body: Json) =>
    [['status'], ['spec'], ['metadata', 'labels'], ['metadata', 'generation']].map((one) => valueAt(body, one) ?? null);
  const spec = (displayName: string) => ({ spec: { displayName, clusterManager: { name: 'm' } } });
  const made = { apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile', metadata: { name: 'told' } };
  const status = (kubernetes: string) => ({ status: { version: { kubernetes } } });
  await step(post(path, { ...made, ...spec('a'), ...status('v1') }), told);
  for (const [part, more, metadata] of [
    ['/status', { ...spec('b'), ...status('v2') }, { labels: { a: 'b' } }],
    ['', { ...spec('b'), status: {} }, {}],
    ['', {}, { labels: { a: 'b' } }],
  ] as const)
    await step((answers) => put(`${path}/told${part}`, changed(answers.at(-1), metadata, more)), told);
  await step(get(`${path}/told/status`), told);
  await step(post('/api/v1/namespaces', { metadata: { name: 'phased' }, status: { phase: 'x' } }), (body) => [
    valueAt(body, ['status', 'phase']) ?? null,
    valueAt(body, ['metadata', 'labels']) ?? null,
  ]);
}

/** What no API server does. */
async function wrongPaths(step: Step): Promise<void> {
  for (const path of ['/nothing', '/api/v1/nothing', '/apis/no.group/v1/things', '/api/v1/configmaps/a'])
    await step(get(path), () => null);
  await step(get('/api/v1/namespaces/default/nodes'), () => null);
  for (const [method, path] of [
    ['POST', `${maps}/there`],
    ['PUT', maps],
    ['PATCH', maps],
    ['POST', '/api/v1/configmaps'],
    ['POST', '/version'],
  ] as const)
    await step({ method, path, body: {} }, () => null);
  await step({ ...post(maps, map('typed')), headers: { 'content-type': 'text/plain' } });
}

async function patchTypes(step: Step): Promise<void> {
  const path = `${maps}/there`;
  const typed = (where: string, type: string, body: unknown) =>
    merge(where, body as JsonObject, { 'content-type': `application/${type}` }); // some are lists or text
  const profile = `/apis/multicluster.x-k8s.io/v1alpha1/namespaces/${namespace}/clusterprofiles/told`;
  for (const sent of [
    ...['json', 'x-www-form-urlencoded', 'apply-patch+cbor'].map((type) => typed(path, type, { data: { x: '2' } })),
    typed(profile, 'strategic-merge-patch+json', {}),
    ...[{ data: { a: '3' } }, [{ op: 'replace', path: '/metadata/name', value: 'b' }]].map((patch) =>
      typed(path, 'json-patch+json', patch),
    ),
    typed(path, 'json-patch+json', [{ op: 'replace', path: '/metadata/resourceVersion', value: '1' }]),
    ...[{ metadata: { resourceVersion: '1' } }, [], '{', { metadata: { finalizers: ['cleanup'] } }].map((patch) =>
      typed(path, 'merge-patch+json', patch),
    ),
    typed(`${maps}/none`, 'merge-patch+json', {}),
    ...['', '?fieldManager=me'].map((query) => apply(`${maps}/other${query}`, map('applied'))),
    typed(`${maps}/yaml?fieldManager=me`, 'apply-patch+yaml', '{'),
  ])
    await step(sent);
  const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  x: "1"\n';
  await step(typed(`${maps}/yaml?fieldManager=me`, 'apply-patch+yaml', yaml), at('data'));
  for (const isSame of [false, true])
    await step(
      apply(`${maps}/twice?fieldManager=me`, map('twice', { data: { x: '1' } })),
      at('metadata', 'resourceVersion'),
      (version, before) => !isSame || version === versionOf(before),
    );
}

/** Selectors of labels and fields, pages, and lists of a version. */
export async function selections(step: Step): Promise<void> {
  const secrets = `${inside}/secrets`;
  const labelled = [{ tier: 'web', env: 'prod' }, { tier: 'web', size: '7' }, { tier: 'db', 'example.com/x': '' }, {}];
  for (const [index, labels] of labelled.entries())
    await step(post(secrets, { metadata: { name: `l${index}`, labels: { listed: '', ...labels } } }), at('type'));
  const ask = (selector: string) => get(`${secrets}?labelSelector=${encodeURIComponent(`listed,${selector}`)}`);
  for (const selector of [
    ...['tier=web', 'tier==web,env!=prod', 'tier!=web', 'tier in (web, db)', 'tier notin (web)', 'tier in (web),!size'],
    ...['env', ' ! env ', 'example.com/x=', 'example.com/x in ()', 'in in (in)'],
    ...['size>x', '=a', 'a=b,', 'a in (b', 'a=b c', 'a/b/c=d', 'a=-'],
  ])
    await step(ask(selector), listed);
  await step(get(`${secrets}?watch=1&labelSelector=%3Da`));
  for (const selector of ['metadata.name=l1', `metadata.namespace=${namespace},metadata.name!=l0`, 'type=Opaque'])
    await step(get(`${secrets}?labelSelector=listed&fieldSelector=${encodeURIComponent(selector)}`), listed);
  for (const selector of ['spec.image=x', 'metadata.name', 'metadata.name=a=b'])
    await step(get(`${secrets}?fieldSelector=${encodeURIComponent(selector)}`), listed);

  const page = (query: string) => get(`${secrets}?labelSelector=listed&${query}`);
  const tokenOf = (body: Json | undefined) => String(valueAt(body ?? null, ['metadata', 'continue']));
  await step(page('limit=2'), listed);
  // What changes between two pages is in none of them.
  await step(remove(`${secrets}/l2`), at('status'));
  await step(post(secrets, { metadata: { name: 'l9', labels: { listed: '' } } }), at('type'));
  await step((answers) => page(`limit=1&continue=${tokenOf(answers.at(-3))}`), listed);
  const sameVersion = (version: Json | undefined, before: Json | undefined) => version === versionOf(before);
  const next = (answers: readonly Json[]) => page(`limit=1&continue=${tokenOf(answers.at(-1))}`);
  await step(next, at('metadata', 'resourceVersion'), sameVersion);
  const first = (answers: readonly Json[]) => answers.findLast((body) => tokenOf(body).length > 20);
  for (const query of ['continue=nonsense', 'limit=x', 'resourceVersion=new']) await step(page(query));
  for (const match of ['', '&resourceVersionMatch=NotOlderThan', '&resourceVersionMatch=Exact', '&limit=5'])
    await step((answers) => page(`resourceVersion=${versionOf(first(answers))}${match}`), listed);
  await step(remove(`${secrets}?labelSelector=listed`), (body) => isList(valueAt(body, ['items'])));
}
