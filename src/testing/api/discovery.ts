/** Discovery: the server's version, groups and kinds. */
import type { ApiState } from './api-state.ts';
import type { ResourceType } from './built-in-types.ts';
import type { JsonObject } from './json.ts';
import { noSuchResource, PageNotFound } from './status.ts';
import { reviewType } from './tokens.ts';

const readAndWrite = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** The version that is modelled. */
export const version = (name: string): JsonObject => ({
  major: '1',
  minor: '36',
  gitVersion: `v1.36.0+${name}`,
  gitCommit: '',
  gitTreeState: '',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: '',
});

/** The answer to a GET of `/api`, `/apis`, a group or a group's version; throws a 404 for one that is not served. */
export function discover(state: ApiState, parts: readonly string[]): JsonObject {
  // The core group has no name and a prefix of its own.
  const [prefix, group, name, more] = parts[0] === 'api' && parts.length > 1 ? parts.toSpliced(1, 0, '') : parts;
  if (prefix === 'api' && group === undefined) {
    return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
  }
  if (group === undefined) {
    return { kind: 'APIGroupList', apiVersion: 'v1', groups: groupsOf(state).map((one) => groupOf(state, one)) };
  }
  if (group !== '' && !servesGroup(state, group)) throw new PageNotFound();
  if (name === undefined) {
    return { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(state, group) };
  }
  const types = [...state.types(), reviewType].filter((type) => type.group === group && type.version === name);
  if (types.length === 0 || more !== undefined) throw noSuchResource();
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: group === '' ? name : `${group}/${name}`,
    resources: types.toSorted((one, other) => (one.plural < other.plural ? -1 : 1)).flatMap(resourcesOf),
  };
}

export const servesGroup = (state: ApiState, group: string) => groupsOf(state).includes(group);

function groupsOf(state: ApiState): readonly string[] {
  const groups = [...state.types(), reviewType].map(({ group }) => group);
  return [...new Set(groups)].filter((group) => group !== '');
}

function groupOf(state: ApiState, name: string): JsonObject {
  const types = [...state.types(), reviewType].filter(({ group }) => group === name);
  const versions = [...new Set(types.map((type) => type.version))].sort(byStability);
  const [preferred = ''] = versions;
  const entry = (one: string) => ({ groupVersion: `${name}/${one}`, version: one });
  return { name, versions: versions.map(entry), preferredVersion: entry(preferred) };
}

/** `v2` before `v1` before `v2beta1` before `v1alpha1`. */
function byStability(one: string, other: string): number {
  const rank = (name: string) => {
    const [, major = '0', stage = 'stable', minor = '0'] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(name) ?? [];
    return [['alpha', 'beta', 'stable'].indexOf(stage), Number(major), Number(minor)] as const;
  };
  const [a, b] = [rank(one), rank(other)];
  return b[0] - a[0] || b[1] - a[1] || b[2] - a[2];
}

function resourcesOf(type: ResourceType): readonly JsonObject[] {
  const { plural, singular, namespaced, kind } = type;
  const entry = (name: string, verbs: readonly string[], more: JsonObject = {}): JsonObject => ({
    name,
    singularName: '',
    namespaced,
    kind,
    verbs,
    ...more,
  });
  if (type === reviewType) return [entry(plural, ['create'], { singularName: singular })];
  const verbs = readAndWrite.filter((verb) => type.deleteCollection || verb !== 'deletecollection');
  const some = ['get', 'patch', 'update'];
  const token = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' };
  return [
    entry(plural, verbs, { singularName: singular }),
    ...(type.status ? [entry(`${plural}/status`, some)] : []),
    ...(type.group === '' && plural === 'serviceaccounts' ? [entry(`${plural}/token`, ['create'], token)] : []),
  ];
}
