/** Deletion: its options and preconditions, finalizers, and what ends with an object. */

import { z } from 'zod';
import type { ApiState } from './api-state.ts';
import { definitionType, namespaceType, type ResourceType } from './built-in-types.ts';
import { type Content, isDryRun, parseBody } from './http.ts';
import { isObject, type JsonObject, valueAt } from './json.ts';
import { keyOf, type Place, present, type StoredObject, timestamp, withMeta } from './objects.ts';
import { badRequest, conflict, forbidden, notImplemented } from './status.ts';

/** The outcome of a deletion. */
interface Removed {
  /** Its last state, with the version of the change. */
  readonly object: StoredObject;
  readonly gone: boolean;
}

/** Whether an object that is being deleted can go: no finalizer, an empty namespace. */
export function mayGo(state: ApiState, type: ResourceType, object: StoredObject): boolean {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || finalizers.length > 0) return false;
  return type !== namespaceType || !state.hasObjectsIn(object.metadata.name);
}

/** Deletes an object, or marks it if finalizers keep it. Throws a 501 for a definition whose objects have finalizers. */
function remove(state: ApiState, type: ResourceType, object: StoredObject): Removed {
  const { deletionTimestamp, generation, finalizers = [] } = object.metadata;
  if (deletionTimestamp !== undefined) {
    const gone = mayGo(state, type, object);
    return { object: gone ? takeObject(state, type, object) : object, gone };
  }
  if (type === namespaceType) return beginNamespace(state, object);
  if (type === definitionType) refuseHeldObjects(state, object);
  if (finalizers.length === 0) return { object: takeObject(state, type, object), gone: true };
  const marked = withMeta(object, {
    deletionTimestamp: timestamp(state.clock()),
    deletionGracePeriodSeconds: 0,
    ...(generation === undefined ? {} : { generation: generation + 1 }),
  });
  return { object: state.collection(type).put(marked), gone: false };
}

/** A real server keeps the definition until the last of its objects has gone. */
function refuseHeldObjects(state: ApiState, definition: StoredObject): void {
  const { name } = definition.metadata;
  const held = state
    .collectionAt(name)
    .list()
    .find(({ metadata }) => metadata.finalizers);
  if (!held) return;
  const kind = String(valueAt(definition, ['spec', 'names', 'kind']));
  const text = `${kind} ${keyOf(held.metadata.namespace, held.metadata.name)}`;
  throw notImplemented(
    `the deletion of CustomResourceDefinition ${name} while ${text} has finalizers: remove them first`,
  );
}

/** Takes an object away, whatever keeps it, with what ends with it. Returns its last state. */
export function takeObject(state: ApiState, type: ResourceType, object: StoredObject): StoredObject {
  const { namespace, name } = object.metadata;
  const last = state.collection(type).delete(object);
  if (type === definitionType) {
    // Its name is where its objects are stored.
    const collection = state.collectionAt(name);
    for (const one of collection.list()) {
      collection.delete(one);
      if (one.metadata.namespace !== undefined) endNamespace(state, one.metadata.namespace);
    }
    state.define(object, []);
  }
  if (namespace !== undefined) endNamespace(state, namespace);
  return last;
}

/** A namespace goes once all that is in it has gone, which is deleted now. */
function beginNamespace(state: ApiState, namespace: StoredObject): Removed {
  const { name } = namespace.metadata;
  const status = { ...(isObject(namespace.status) ? namespace.status : {}), phase: 'Terminating' };
  const marked = withMeta({ ...namespace, status }, { deletionTimestamp: timestamp(state.clock()) });
  const stored = state.collection(namespaceType).put(marked);
  for (const [type, object] of state.objectsIn(name)) remove(state, type, object);
  endNamespace(state, name);
  return { object: stored, gone: false };
}

/** Ends a namespace that is being deleted, once nothing is in it. */
function endNamespace(state: ApiState, name: string): void {
  const namespace = state.find({ type: namespaceType, name });
  if (!namespace || !mayGo(state, namespaceType, namespace)) return;
  state.collection(namespaceType).delete(namespace);
}

/** The preconditions of a deletion. */
interface DeleteOptions {
  readonly uid?: string | null | undefined;
  readonly resourceVersion?: string | null | undefined;
  readonly dryRun: boolean;
}

const optionsSchema = z.object({
  dryRun: z.array(z.string()).nullish(),
  propagationPolicy: z.string().nullish(),
  orphanDependents: z.boolean().nullish(),
  preconditions: z.object({ uid: z.string().nullish(), resourceVersion: z.string().nullish() }).nullish(),
});

/** The options of a deletion, from its body, or from the query if it has none. Throws a 400 or 501. */
export function deleteOptionsOf(query: URLSearchParams, content: Content): DeleteOptions {
  const given = content.body.length === 0 ? fromQuery(query) : parseBody(content);
  const parsed = optionsSchema.safeParse(given);
  if (!parsed.success) throw badRequest(`DeleteOptions cannot be read: ${z.prettifyError(parsed.error)}`);
  const { dryRun, propagationPolicy, orphanDependents, preconditions } = parsed.data;
  const policy = propagationPolicy ?? (orphanDependents ? 'Orphan' : 'Background');
  if (policy !== 'Background') {
    throw notImplemented(`a deletion with propagationPolicy ${policy}: it has no garbage collector`);
  }
  return { ...preconditions, dryRun: isDryRun(dryRun ?? []) };
}

const fromQuery = (query: URLSearchParams): JsonObject => ({
  dryRun: query.getAll('dryRun'),
  propagationPolicy: query.get('propagationPolicy'),
});

/** Deletes an object, or marks it if something keeps it. Returns the response. */
export function deleteObject(state: ApiState, place: Place, options: DeleteOptions): JsonObject {
  const { type, name } = place;
  if (type === namespaceType && ['default', 'kube-system', 'kube-public'].includes(name))
    throw forbidden(type, name, 'this namespace may not be deleted');
  const object = state.get(place);
  checkPreconditions(type, object, options);
  if (options.dryRun && (type === definitionType || type === namespaceType))
    throw notImplemented(`dryRun of the deletion of a ${type.kind}`);
  const { object: last, gone } = state.write(options.dryRun, () => remove(state, type, object));
  if (type.returnsDeleted || !gone) return present(type, last);
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, group: type.group || undefined, kind: type.plural, uid: object.metadata.uid },
  };
}

/** Kubernetes calls the object by its kind here. */
function checkPreconditions(type: ResourceType, { metadata }: StoredObject, options: DeleteOptions): void {
  for (const [field, given, there, hint] of [
    ['UID', options.uid, metadata.uid, 'The object might have been deleted and then recreated'],
    ['ResourceVersion', options.resourceVersion, metadata.resourceVersion, 'The object might have been modified'],
  ] as const) {
    if ((given ?? there) === there) continue;
    const why = `the ${field} in the precondition (${given}) does not match the ${field} in record (${there}). ${hint}`;
    throw conflict({ ...type, plural: type.kind }, metadata.name, why);
  }
}
