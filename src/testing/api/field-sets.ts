/**
 * The fields of an object as server-side apply sees them: each value that is not taken apart (a scalar, an atomic list or map, what is
 * empty) at its path. In a path, as in `fieldsV1`, `f:NAME` is a field, `k:{"name":"a"}` the item of a list with these keys, and
 * `v:"x"` an item of a set.
 */
import type { ResourceType } from './built-in-types.ts';
import { isList, isObject, type Json, type JsonObject, valueAt } from './json.ts';

type Path = readonly string[];

interface Part {
  readonly value: Json;
  readonly schema: JsonObject;
}

/** Values by their paths, each path as JSON. */
export type Fields = ReadonlyMap<string, Json>;

const schemaAt = (schema: JsonObject, ...path: readonly string[]): JsonObject => {
  const found = valueAt(schema, path);
  return isObject(found) ? found : {};
};

/** What a value is made of; `undefined` if it is taken as a whole. */
function partsOf(value: Json | undefined, schema: JsonObject): ReadonlyMap<string, Part> | undefined {
  if (isList(value)) return itemsOf(value, schema);
  if (!isObject(value) || schema['x-kubernetes-map-type'] === 'atomic') return undefined;
  const others = schemaAt(schema, 'additionalProperties');
  const parts = Object.entries(value).flatMap(([field, inner]): readonly (readonly [string, Part])[] => {
    if (inner === undefined) return [];
    const known = Object.hasOwn(schemaAt(schema, 'properties'), field);
    return [[`f:${field}`, { value: inner, schema: known ? schemaAt(schema, 'properties', field) : others }]];
  });
  return new Map(parts);
}

/** The items of a list by their keys, or of a set. A list whose items lack keys, or have the same ones, is taken as a whole. */
function itemsOf(list: readonly Json[], schema: JsonObject): ReadonlyMap<string, Part> | undefined {
  const type = schema['x-kubernetes-list-type'];
  const items = schemaAt(schema, 'items');
  const nameOf = (item: Json) => (type === 'set' ? `v:${JSON.stringify(item)}` : keysOf(item, schema));
  const parts = new Map(list.map((value) => [nameOf(value), { value, schema: items }]));
  return (type === 'map' || type === 'set') && parts.size === list.length && !parts.has('') ? parts : undefined;
}

function keyNames(schema: JsonObject): readonly string[] {
  const names = schema['x-kubernetes-list-map-keys'];
  return isList(names) ? names.map(String).toSorted() : [];
}

/** Empty if an item lacks a key that has no default. */
function keysOf(item: Json, schema: JsonObject): string {
  const keys = keyNames(schema).map((name) => {
    const otherwise = valueAt(schema, ['items', 'properties', name, 'default']);
    return [name, valueAt(item, [name]) ?? otherwise] as const;
  });
  return keys.some(([, value]) => value === undefined) ? '' : `k:${JSON.stringify(Object.fromEntries(keys))}`;
}

/** The parts as an object or a list, as the value was. */
function join(parts: ReadonlyMap<string, Json>, value: Json | undefined): Json {
  if (isList(value)) return [...parts.values()];
  return Object.fromEntries([...parts].map(([name, inner]) => [name.slice(2), inner]));
}

export function fieldsOf(value: Json, schema: JsonObject): Fields {
  const found = new Map<string, Json>();
  const walk = (part: Part, path: Path) => {
    const parts = partsOf(part.value, part.schema);
    if (!parts?.size) found.set(JSON.stringify(path), part.value);
    else for (const [name, inner] of parts) walk(inner, [...path, name]);
  };
  for (const [name, part] of partsOf(value, schema) ?? []) walk(part, [name]);
  return found;
}

/** The value with what is applied to it. */
export function mergeFields(value: Json, applied: Json, schema: JsonObject): Json {
  const parts = partsOf(value, schema);
  const given = partsOf(applied, schema);
  if (!parts || !given || isList(value) !== isList(applied)) return applied;
  const merged = new Map([...parts].map(([name, part]) => [name, part.value]));
  for (const [name, part] of given) {
    const there = merged.get(name);
    merged.set(name, there === undefined ? part.value : mergeFields(there, part.value, part.schema));
  }
  return join(merged, value);
}

/** The value without fields, and without what has nothing in it any more; an item that loses one of its keys goes. */
export function withoutFields(value: Json, schema: JsonObject, paths: ReadonlySet<string>): Json | undefined {
  const isGone = (path: Path) => paths.has(JSON.stringify(path));
  const prune = (part: Part, path: Path): Json | undefined => {
    const parts = partsOf(part.value, part.schema);
    if (!parts?.size) return isGone(path) ? undefined : part.value;
    const keys = isList(part.value) ? keyNames(part.schema) : [];
    const kept = new Map<string, Json>();
    for (const [name, inner] of parts) {
      const left = prune(inner, [...path, name]);
      const isUnnamed = keys.some((key) => isGone([...path, name, `f:${key}`]));
      if (left !== undefined && !isUnnamed) kept.set(name, left);
    }
    return kept.size === 0 ? undefined : join(kept, part.value);
  };
  return prune({ value, schema }, []);
}

/** Paths as `fieldsV1`. */
export function encodeFields(paths: Iterable<string>): JsonObject {
  const root: Record<string, Record<string, JsonObject>> = {};
  for (const path of paths) {
    let at: Record<string, object> = root;
    for (const name of JSON.parse(path)) {
      at[name] ??= {};
      at = at[name] as Record<string, object>; // made here
    }
  }
  return root;
}

export function decodeFields(fields: Json | undefined): ReadonlySet<string> {
  const paths = new Set<string>();
  const walk = (value: Json | undefined, path: Path) => {
    const inner = Object.entries(isObject(value) ? value : {});
    if (inner.length === 0) paths.add(JSON.stringify(path));
    for (const [name, child] of inner) if (name !== '.') walk(child, [...path, name]);
  };
  if (isObject(fields)) for (const [name, child] of Object.entries(fields)) walk(child, [name]);
  return paths;
}

/** A path as messages have it: `.spec.containers[name="a"].image` */
export function pathText(path: string): string {
  return (JSON.parse(path) as Path) // it was made here
    .map((name) => {
      if (name.startsWith('f:')) return `.${name.slice(2)}`;
      const keys = name.startsWith('k:')
        ? Object.entries(JSON.parse(name.slice(2)))
        : [['', JSON.parse(name.slice(2))]];
      return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
    })
    .join('');
}

const byKey = (keys: readonly string[], items: JsonObject = {}): JsonObject => ({
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  items,
});
const fields = (properties: JsonObject): JsonObject => ({ properties });
const spec = (properties: JsonObject): JsonObject => fields({ spec: fields(properties) });

const protocol = fields({ protocol: { default: 'TCP' } });
const containers = byKey(
  ['name'],
  fields({
    env: byKey(['name']),
    ports: byKey(['containerPort', 'protocol'], protocol),
    volumeMounts: byKey(['mountPath']),
  }),
);
const pod = spec({ containers, initContainers: containers, volumes: byKey(['name']) });
const workload = spec({ template: pod });

const builtIn: Readonly<Record<string, JsonObject>> = {
  CronJob: spec({ jobTemplate: workload }),
  DaemonSet: workload,
  Deployment: workload,
  Job: workload,
  Pod: pod,
  ReplicaSet: workload,
  Service: spec({ ports: byKey(['port', 'protocol'], protocol) }),
  StatefulSet: workload,
};

const metadata = fields({
  finalizers: { 'x-kubernetes-list-type': 'set' },
  ownerReferences: byKey(['uid'], { 'x-kubernetes-map-type': 'atomic' }),
});
const status = fields({ conditions: byKey(['type']) });

/** The schema of a kind, as far as it is known. */
export function schemaOf({ custom, kind, schema = {} }: ResourceType): JsonObject {
  const { properties } = custom ? schema : (builtIn[kind] ?? {});
  const known = isObject(properties) ? properties : {};
  return { ...schema, properties: custom ? { ...known, metadata } : { status, ...known, metadata } };
}
