/** How objects end: at once, after their finalizers and their time, and what ends with them. */

import type { ApiState } from './api-state.ts';
import { cleanupFinalizer, customTypes, terminating } from './custom-types.ts';
import { isList, isObject, valueAt, withValueAt } from './json.ts';
import { graceSeconds } from './kinds.ts';
import { timestamp } from './metadata.ts';
import { keyOf, type StoredObject, withMeta } from './objects.ts';
import { type ResourceType, storageKeyOf } from './resource-type.ts';

export interface RemovalOptions {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds?: number | undefined;
}

/** The outcome of a deletion. */
export interface Removed {
  /** Its last state, with the version of the change. */
  readonly object: StoredObject;
  readonly gone: boolean;
}

/** Whether an object that is being deleted can go: no finalizer, no grace period, an empty namespace. */
export function mayGo(state: ApiState, type: ResourceType, object: StoredObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
  const ofNamespace = type === state.namespaces ? valueAt(object, ['spec', 'finalizers']) : [];
  return (
    deletionTimestamp !== undefined &&
    deletionGracePeriodSeconds === 0 &&
    finalizers.length === 0 &&
    !(isList(ofNamespace) && ofNamespace.length > 0)
  );
}

/** Deletes an object, or marks it if finalizers or a grace period keep it. */
export function remove(state: ApiState, type: ResourceType, object: StoredObject, options: RemovalOptions): Removed {
  if (object.metadata.deletionTimestamp === undefined) return begin(state, type, object, options);
  const { gracePeriodSeconds: asked } = options;
  const { deletionGracePeriodSeconds: left = 0, deletionTimestamp } = object.metadata;
  if (left === 0) return mayGo(state, type, object) ? take(state, type, object, options) : { object, gone: false };
  // A grace period can only be shortened.
  const seconds = asked === undefined || asked >= 0 ? asked : 1;
  if (seconds === undefined || seconds >= left) return { object, gone: false };
  const sooner = timestamp(Date.parse(deletionTimestamp) - (left - seconds) * 1_000);
  const marked = withMeta(object, { deletionTimestamp: sooner, deletionGracePeriodSeconds: seconds });
  return settle(state, type, marked, options);
}

function begin(state: ApiState, type: ResourceType, object: StoredObject, options: RemovalOptions): Removed {
  if (type === state.namespaces) return beginNamespace(state, object, options);
  if (type === state.definitions) return beginDefinition(state, object, options);
  const seconds = graceSeconds(type, object, options.gracePeriodSeconds);
  const { generation, finalizers = [] } = object.metadata;
  if (seconds === undefined && finalizers.length === 0) return take(state, type, object, options);
  const marked = withMeta(object, {
    deletionTimestamp: timestamp(state.clock() + (seconds ?? 0) * 1_000),
    deletionGracePeriodSeconds: seconds ?? 0,
    ...(generation === undefined ? {} : { generation: generation + 1 }),
  });
  return settle(state, type, marked, options);
}

/** Stores a marked object, and removes it at once if nothing keeps it: a watch sees both. */
function settle(state: ApiState, type: ResourceType, marked: StoredObject, options: RemovalOptions): Removed {
  const stored = store(state, type, marked, options);
  return mayGo(state, type, stored) ? take(state, type, stored, options) : { object: stored, gone: false };
}

function store(state: ApiState, type: ResourceType, object: StoredObject, { dryRun }: RemovalOptions): StoredObject {
  const { namespace, name } = object.metadata;
  return dryRun ? object : state.store.collection(storageKeyOf(type)).put(keyOf(namespace, name), object);
}

function take(state: ApiState, type: ResourceType, object: StoredObject, { dryRun }: RemovalOptions): Removed {
  const { namespace, name } = object.metadata;
  if (dryRun) return { object, gone: true };
  const last = state.store.collection(storageKeyOf(type)).delete(keyOf(namespace, name)) ?? object;
  afterRemoval(state, type, object);
  return { object: last, gone: true };
}

/** Handles the consequences of a removed object. */
export function afterRemoval(state: ApiState, type: ResourceType, object: StoredObject): void {
  const { namespace } = object.metadata;
  if (type === state.definitions) {
    for (const custom of customTypes(object).slice(0, 1)) {
      const collection = state.store.collection(storageKeyOf(custom));
      for (const key of collection.keys()) {
        const last = collection.delete(key);
        if (last?.metadata.namespace !== undefined) endNamespace(state, last.metadata.namespace);
      }
    }
    state.undefine(object);
  }
  if (type.custom) endDefinition(state, type);
  if (namespace !== undefined) endNamespace(state, namespace);
}

const all = { dryRun: false };

/** A namespace goes once all that is in it has gone, which is deleted now. */
function beginNamespace(state: ApiState, namespace: StoredObject, options: RemovalOptions): Removed {
  const { name } = namespace.metadata;
  const status = { ...(isObject(namespace.status) ? namespace.status : {}), phase: 'Terminating' };
  const marked = withMeta({ ...namespace, status }, { deletionTimestamp: timestamp(state.clock()) });
  const stored = store(state, state.namespaces, marked, options);
  if (options.dryRun) return { object: stored, gone: false };
  for (const type of state.storedTypes()) {
    if (!type.namespaced) continue;
    const collection = state.store.collection(storageKeyOf(type));
    for (const key of collection.keysIn(name)) {
      const object = collection.get(key);
      if (object) remove(state, type, object, all);
    }
  }
  endNamespace(state, name);
  return { object: stored, gone: false };
}

/** Ends a namespace that is being deleted, once nothing is in it. */
function endNamespace(state: ApiState, name: string): void {
  const namespace = state.find(state.namespaces, undefined, name);
  if (!namespace || namespace.metadata.deletionTimestamp === undefined || state.store.sizeOf(name) > 0) return;
  const finalizers = valueAt(namespace, ['spec', 'finalizers']);
  if (!isList(finalizers) || !finalizers.includes('kubernetes')) return;
  const left = finalizers.filter((finalizer) => finalizer !== 'kubernetes');
  const empty = { ...withValueAt(namespace, ['spec', 'finalizers'], left), metadata: namespace.metadata };
  const collection = state.store.collection(storageKeyOf(state.namespaces));
  if (mayGo(state, state.namespaces, empty)) collection.delete(name);
  else collection.put(name, empty);
}

/** A definition serves its kind until the last object has gone; what has no finalizers is deleted now. */
function beginDefinition(state: ApiState, definition: StoredObject, options: RemovalOptions): Removed {
  const { finalizers = [] } = definition.metadata;
  const marked = withMeta(
    { ...definition, status: terminating(definition, timestamp(state.clock())) },
    {
      deletionTimestamp: timestamp(state.clock()),
      finalizers: finalizers.includes(cleanupFinalizer) ? finalizers : [...finalizers, cleanupFinalizer],
    },
  );
  const stored = store(state, state.definitions, marked, options);
  const [type] = customTypes(stored);
  if (options.dryRun || !type) return { object: stored, gone: false };
  const collection = state.store.collection(storageKeyOf(type));
  for (const key of collection.keys()) {
    const object = collection.get(key);
    if (object) remove(state, type, object, all);
  }
  endDefinition(state, type);
  return { object: stored, gone: false };
}

/** Ends the definition of a kind that is being deleted, once no object is left. */
function endDefinition(state: ApiState, type: ResourceType): void {
  const definition = state.definitionOf(type);
  if (definition?.metadata.deletionTimestamp === undefined) return;
  if (state.store.collection(storageKeyOf(type)).size > 0) return;
  const { finalizers = [] } = definition.metadata;
  if (!finalizers.includes(cleanupFinalizer)) return;
  const left = finalizers.filter((finalizer) => finalizer !== cleanupFinalizer);
  settle(state, state.definitions, withMeta(definition, { finalizers: left.length > 0 ? left : undefined }), all);
}
