/** How objects end: at once or after their finalizers, and what ends with them. */

import type { ApiState } from './api-state.ts';
import { customTypes } from './custom-types.ts';
import { isObject } from './json.ts';
import { timestamp } from './metadata.ts';
import { keyOf, type StoredObject, withMeta } from './objects.ts';
import { type ResourceType, storageKeyOf } from './resource-type.ts';
import { notImplemented } from './status.ts';

/** The outcome of a deletion. */
export interface Removed {
  /** Its last state, with the version of the change. */
  readonly object: StoredObject;
  readonly gone: boolean;
}

/** Whether an object that is being deleted can go: no finalizer, an empty namespace. */
export function mayGo(state: ApiState, type: ResourceType, object: StoredObject): boolean {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  const isFull = type === state.namespaces && state.store.hasObjectsIn(object.metadata.name);
  return deletionTimestamp !== undefined && finalizers.length === 0 && !isFull;
}

/** Deletes an object, or marks it if finalizers keep it. Throws a 501 for a definition whose objects have finalizers. */
export function remove(state: ApiState, type: ResourceType, object: StoredObject): Removed {
  const { deletionTimestamp, generation, finalizers = [] } = object.metadata;
  if (deletionTimestamp !== undefined) {
    return mayGo(state, type, object) ? take(state, type, object) : { object, gone: false };
  }
  if (type === state.namespaces) return beginNamespace(state, object);
  if (type === state.definitions) refuseHeldObjects(state, object);
  if (finalizers.length === 0) return take(state, type, object);
  const marked = withMeta(object, {
    deletionTimestamp: timestamp(state.clock()),
    deletionGracePeriodSeconds: 0,
    ...(generation === undefined ? {} : { generation: generation + 1 }),
  });
  return { object: store(state, type, marked), gone: false };
}

function store(state: ApiState, type: ResourceType, object: StoredObject): StoredObject {
  const { namespace, name } = object.metadata;
  return state.store.collection(storageKeyOf(type)).put(keyOf(namespace, name), object);
}

function take(state: ApiState, type: ResourceType, object: StoredObject): Removed {
  const { namespace, name } = object.metadata;
  const last = state.store.collection(storageKeyOf(type)).delete(keyOf(namespace, name)) ?? object;
  afterRemoval(state, type, object);
  return { object: last, gone: true };
}

/** A real server keeps the definition until the last of its objects has gone. */
function refuseHeldObjects(state: ApiState, definition: StoredObject): void {
  for (const custom of customTypes(definition).slice(0, 1)) {
    const collection = state.store.collection(storageKeyOf(custom));
    const held = collection.keys().find((key) => collection.get(key)?.metadata.finalizers);
    if (held === undefined) continue;
    throw notImplemented(
      `the deletion of CustomResourceDefinition ${definition.metadata.name} while ${custom.kind} ${held} has finalizers: remove them first`,
    );
  }
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
  if (namespace !== undefined) endNamespace(state, namespace);
}

/** A namespace goes once all that is in it has gone, which is deleted now. */
function beginNamespace(state: ApiState, namespace: StoredObject): Removed {
  const { name } = namespace.metadata;
  const status = { ...(isObject(namespace.status) ? namespace.status : {}), phase: 'Terminating' };
  const marked = withMeta({ ...namespace, status }, { deletionTimestamp: timestamp(state.clock()) });
  const stored = store(state, state.namespaces, marked);
  for (const type of state.storedTypes()) {
    if (!type.namespaced) continue;
    const collection = state.store.collection(storageKeyOf(type));
    for (const key of collection.keysIn(name)) {
      const object = collection.get(key);
      if (object) remove(state, type, object);
    }
  }
  endNamespace(state, name);
  return { object: stored, gone: false };
}

/** Ends a namespace that is being deleted, once nothing is in it. */
function endNamespace(state: ApiState, name: string): void {
  const namespace = state.find(state.namespaces, undefined, name);
  if (!namespace || !mayGo(state, state.namespaces, namespace)) return;
  state.store.collection(storageKeyOf(state.namespaces)).delete(name);
}
