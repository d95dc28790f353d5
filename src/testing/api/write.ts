/** Writes: what create, update and delete do to the objects that are kept, which fields only the server sets, and what conflicts. */
import { randomInt } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { ApiState } from './api-state.ts';
import { definitionType, namespaceType, type ResourceType } from './built-in-types.ts';
import { customTypes, established } from './custom-types.ts';
import { type Content, isDryRun, parseBody } from './http.ts';
import { isObject, type JsonObject, valueAt, without } from './json.ts';
import { prepareKind } from './kinds.ts';
import { type Writer, withManagers } from './managed-fields.ts';
import {
  checkMeta,
  type GivenMeta,
  type GivenObject,
  keyOf,
  type Place,
  present,
  type StoredMeta,
  type StoredObject,
  timestamp,
  withMeta,
} from './objects.ts';
import {
  alreadyExists,
  badRequest,
  cause,
  conflict,
  forbidden,
  invalid,
  notImplemented,
  unexplained,
} from './status.ts';

/** Stores a new object. Throws a 400, 403, 404, 409 or 422. */
export function createObject(
  state: ApiState,
  type: ResourceType,
  namespace: string | undefined,
  given: GivenObject,
  writer: Writer,
): StoredObject {
  checkNamespace(state, type, namespace, given.metadata);
  const { generateName } = given.metadata;
  const name = given.metadata.name ?? (generateName && freeName(state, type, namespace, generateName)) ?? '';
  const own = without({ ...given.metadata, namespace });
  const metadata = { ...own, ...state.newMeta(type), name, resourceVersion: '' };
  const object = withStatus(type, prepareKind(type, { ...given, metadata }), undefined);
  checkMeta(type, object.metadata);
  if ((given.metadata.resourceVersion ?? '0') !== '0') {
    throw unexplained('resourceVersion should not be set on objects to be created');
  }
  if (state.find({ type, namespace, name })) throw alreadyExists(type, name);
  return storeObject(state, type, withManagers(type, undefined, object, writer));
}

/** Puts an object in the place of another one, or where there is none yet. Throws a 400, 403, 404, 409 or 422. */
export function replaceObject(
  state: ApiState,
  place: Place,
  before: StoredObject | undefined,
  given: GivenObject,
  writer: Writer,
): StoredObject {
  const { type, namespace, name } = place;
  checkName(place, given.metadata);
  const { uid } = given.metadata;
  const there = before?.metadata.uid ?? '';
  if (uid !== undefined && uid !== there) {
    throw conflict(type, name, `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${there}`);
  }
  if (!before) return createObject(state, type, namespace, given, writer);
  checkVersion(type, given.metadata, before.metadata);
  const written = writer.subresource === 'status' ? statusWrite(type, given, before) : objectWrite(type, given, before);
  const object = withManagers(type, before, written, writer);
  checkMeta(type, object.metadata, before.metadata);
  if (isDeepStrictEqual(object, before)) return before;
  // The last finalizer of an object that is being deleted was removed.
  if (before.metadata.deletionTimestamp !== undefined && mayGo(state, type, object)) {
    takeObject(state, type, before);
    return object;
  }
  return storeObject(state, type, object);
}

/** Stores an object under the next version; a definition is served from now on. */
export function storeObject(state: ApiState, type: ResourceType, object: StoredObject): StoredObject {
  if (type !== definitionType) return state.collection(type).put(object);
  const served = { ...object, status: established(object, timestamp(state.clock())) };
  state.define(served, customTypes(served));
  return state.collection(type).put(served);
}

function objectWrite(type: ResourceType, given: GivenObject, before: StoredObject): StoredObject {
  // The rest of the metadata only the server changes.
  const { annotations, finalizers, generateName, labels, ownerReferences } = given.metadata;
  const own = { annotations, finalizers, generateName, labels, ownerReferences };
  const object = { ...given, metadata: without({ ...before.metadata, ...own }) };
  const written = withStatus(type, prepareKind(type, object), before);
  if (!isNewGeneration(type, written, before)) return written;
  return withMeta(written, { generation: (before.metadata.generation ?? 0) + 1 });
}

/** Whether an object has changed in what its generation counts. */
export function isNewGeneration(type: ResourceType, object: GivenObject, before: StoredObject): boolean {
  return type.generation && !isDeepStrictEqual({ ...object, metadata: null }, { ...before, metadata: null });
}

function statusWrite(type: ResourceType, given: GivenObject, before: StoredObject): StoredObject {
  return without({ ...before, status: given.status ?? (type.custom ? undefined : {}) });
}

/** A new object has the status that its kind begins with; an update leaves the status as it is. */
function withStatus<T extends JsonObject>(type: ResourceType, object: T, before: StoredObject | undefined): T {
  if (!type.status) return object;
  const first = type.initialStatus ?? (type.custom ? undefined : {});
  return without({ ...object, status: before ? before.status : first });
}

/** The object has to be the one that the URL names. */
export function checkName({ type, namespace, name }: Place, meta: GivenMeta): void {
  if (meta.name === undefined) throw badRequest('the name of the object must be given (metadata.name)');
  if (meta.name !== name) {
    throw badRequest(`the name of the object (${meta.name}) does not match the name on the URL (${name})`);
  }
  if (type.namespaced && meta.namespace !== undefined && meta.namespace !== namespace) throw namespaceMismatch();
}

const namespaceMismatch = () =>
  badRequest('the namespace of the provided object does not match the namespace sent on the request');

function checkVersion(type: ResourceType, given: GivenMeta, { name, resourceVersion }: StoredMeta): void {
  if (given.resourceVersion === undefined || given.resourceVersion === '0') {
    if (type.unconditionalUpdate) return;
    const problem = cause.invalid('metadata.resourceVersion', 0, 'must be specified for an update');
    throw invalid({ group: type.group, kind: type.plural }, name, [problem]);
  }
  if (given.resourceVersion === resourceVersion) return;
  const why = 'the object has been modified; please apply your changes to the latest version and try again';
  throw conflict(type, name, why);
}

/** An object can only be created in a namespace that exists and is not being deleted. */
function checkNamespace(state: ApiState, type: ResourceType, namespace: string | undefined, meta: GivenMeta): void {
  if (!type.namespaced || namespace === undefined) return;
  if (meta.namespace !== undefined && meta.namespace !== namespace) throw namespaceMismatch();
  const found = state.get({ type: namespaceType, name: namespace });
  if (found.metadata.deletionTimestamp === undefined) return;
  const message = `namespace ${namespace} is being terminated`;
  throw forbidden(
    type,
    meta.name ?? '',
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [{ reason: 'NamespaceTerminating', message, field: 'metadata.namespace' }],
  );
}

const letters = 'bcdfghjklmnpqrstvwxz2456789';

/** A name that no object has: the prefix and five letters. A server, too, tries again if there is one. */
function freeName(state: ApiState, type: ResourceType, namespace: string | undefined, prefix: string): string {
  const name = prefix.slice(0, 58) + Array.from({ length: 5 }, () => letters[randomInt(letters.length)]).join('');
  return state.find({ type, namespace, name }) ? freeName(state, type, namespace, prefix) : name;
}

/** Whether an object that is being deleted can go: no finalizer, an empty namespace. */
function mayGo(state: ApiState, type: ResourceType, object: StoredObject): boolean {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || finalizers.length > 0) return false;
  return type !== namespaceType || !state.hasObjectsIn(object.metadata.name);
}

/**
 * Deletes an object, or marks it if finalizers keep it. Returns its last state, with the version of the change, and whether it has gone.
 * Throws a 501 for a definition whose objects have finalizers.
 */
function remove(state: ApiState, type: ResourceType, object: StoredObject): readonly [StoredObject, gone: boolean] {
  const { deletionTimestamp, generation, finalizers = [] } = object.metadata;
  if (deletionTimestamp !== undefined) {
    const gone = mayGo(state, type, object);
    return [gone ? takeObject(state, type, object) : object, gone];
  }
  if (type === namespaceType) return [endingNamespace(state, object), false];
  if (type === definitionType) refuseHeldObjects(state, object);
  if (finalizers.length === 0) return [takeObject(state, type, object), true];
  const marked = withMeta(object, {
    deletionTimestamp: timestamp(state.clock()),
    deletionGracePeriodSeconds: 0,
    ...(generation === undefined ? {} : { generation: generation + 1 }),
  });
  return [state.collection(type).put(marked), false];
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
function endingNamespace(state: ApiState, namespace: StoredObject): StoredObject {
  const { name } = namespace.metadata;
  const status = { ...(isObject(namespace.status) ? namespace.status : {}), phase: 'Terminating' };
  const marked = withMeta({ ...namespace, status }, { deletionTimestamp: timestamp(state.clock()) });
  const stored = state.collection(namespaceType).put(marked);
  for (const [type, object] of state.objectsIn(name)) remove(state, type, object);
  endNamespace(state, name);
  return stored;
}

/** Ends a namespace that is being deleted, once nothing is in it. */
function endNamespace(state: ApiState, name: string): void {
  const namespace = state.find({ type: namespaceType, name });
  if (!namespace || !mayGo(state, namespaceType, namespace)) return;
  state.collection(namespaceType).delete(namespace);
}

const optionsSchema = z.object({
  dryRun: z.array(z.string()).nullish(),
  propagationPolicy: z.string().nullish(),
  orphanDependents: z.boolean().nullish(),
  preconditions: z.object({ uid: z.string().nullish(), resourceVersion: z.string().nullish() }).nullish(),
});

/** The options of a deletion, from its body, or from the query if it has none. Throws a 400 or 501. */
export function deleteOptionsOf(query: URLSearchParams, content: Content) {
  const inQuery = { dryRun: query.getAll('dryRun'), propagationPolicy: query.get('propagationPolicy') };
  const given = content.body.length === 0 ? inQuery : parseBody(content);
  const parsed = optionsSchema.safeParse(given);
  if (!parsed.success) throw badRequest(`DeleteOptions cannot be read: ${z.prettifyError(parsed.error)}`);
  const { dryRun, propagationPolicy, orphanDependents, preconditions } = parsed.data;
  const policy = propagationPolicy ?? (orphanDependents ? 'Orphan' : 'Background');
  if (policy !== 'Background') {
    throw notImplemented(`a deletion with propagationPolicy ${policy}: it has no garbage collector`);
  }
  return { ...preconditions, dryRun: isDryRun(dryRun ?? []) };
}

type DeleteOptions = ReturnType<typeof deleteOptionsOf>;

/** Deletes an object, or marks it if something keeps it. Returns the response. */
export function deleteObject(state: ApiState, place: Place, options: DeleteOptions): JsonObject {
  const { type, name } = place;
  if (type === namespaceType && ['default', 'kube-system', 'kube-public'].includes(name))
    throw forbidden(type, name, 'this namespace may not be deleted');
  const object = state.get(place);
  checkPreconditions(type, object, options);
  if (options.dryRun && (type === definitionType || type === namespaceType))
    throw notImplemented(`dryRun of the deletion of a ${type.kind}`);
  const [last, gone] = state.write(options.dryRun, () => remove(state, type, object));
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
