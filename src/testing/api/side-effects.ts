/** What follows from a write: definitions make and end kinds, namespaces that are deleted end when nothing is in them. */

import type { ApiState } from './api-state.ts';
import { customTypes } from './custom-types.ts';
import { isObject, valueAt } from './json.ts';
import { timestamp } from './metadata.ts';
import { type StoredObject, withMeta } from './objects.ts';
import { type ResourceType, storageKeyOf } from './resource-type.ts';

/** The object as it is to be stored, before it is. Throws where a definition cannot be served. */
export function afterWrite(state: ApiState, type: ResourceType, object: StoredObject, dryRun: boolean): StoredObject {
  if (type !== state.definitions) return object;
  const served = customTypes(object);
  if (!dryRun) state.define(object);
  const condition = (name: string, reason: string, message: string) => ({
    type: name,
    status: 'True',
    lastTransitionTime: timestamp(state.clock()),
    reason,
    message,
  });
  const names = valueAt(object, ['spec', 'names']);
  const status = {
    conditions: [
      condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
      condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
    ],
    acceptedNames: isObject(names) ? names : {},
    storedVersions: served.map(({ version }) => version),
  };
  return { ...object, status: isObject(object.status) && object.status.conditions ? object.status : status };
}

/** Does what is left to do once an object has gone. */
export function afterRemoval(state: ApiState, type: ResourceType, object: StoredObject): void {
  const { namespace } = object.metadata;
  if (type === state.definitions) {
    for (const served of customTypes(object)) removeAll(state, served, () => true);
    state.undefine(object);
  }
  if (namespace !== undefined) endNamespace(state, namespace);
}

/** Deletes what is in a namespace that is being deleted, and then the namespace, unless a finalizer holds something. */
export function endNamespace(state: ApiState, name: string): void {
  const namespace = state.find(state.namespaces, undefined, name);
  if (!namespace || namespace.metadata.deletionTimestamp === undefined) return;
  for (const type of state.types())
    if (type.namespaced) removeAll(state, type, ({ metadata }) => metadata.namespace === name);
  if (state.types().some((type) => type.namespaced && keysIn(state, type, name).length > 0)) return;
  if ((namespace.metadata.finalizers ?? []).length > 0) return;
  state.store.collection(storageKeyOf(state.namespaces)).delete(name);
}

const keysIn = (state: ApiState, type: ResourceType, namespace: string) =>
  state.store
    .collection(storageKeyOf(type))
    .keys()
    .filter((key) => key.startsWith(`${namespace}/`));

/** Objects with finalizers are marked, the others go. */
function removeAll(state: ApiState, type: ResourceType, wanted: (object: StoredObject) => boolean): void {
  const collection = state.store.collection(storageKeyOf(type));
  for (const key of collection.keys()) {
    const object = collection.get(key);
    if (!object || !wanted(object)) continue;
    if ((object.metadata.finalizers ?? []).length === 0) collection.delete(key);
    else if (object.metadata.deletionTimestamp === undefined) {
      collection.put(
        key,
        withMeta(object, { deletionTimestamp: timestamp(state.clock()), deletionGracePeriodSeconds: 0 }),
      );
    }
  }
}
