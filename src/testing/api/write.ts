/** Create and update: which fields a client may set, which only the server sets, and which writes conflict. */

import { randomInt } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ApiState } from './api-state.ts';
import { definitionType, namespaceType, type ResourceType } from './built-in-types.ts';
import { customTypes, established } from './custom-types.ts';
import { type JsonObject, without } from './json.ts';
import { prepareKind } from './kinds.ts';
import { type Writer, withManagers } from './managed-fields.ts';
import {
  checkMeta,
  type GivenMeta,
  type GivenObject,
  type Place,
  type StoredMeta,
  type StoredObject,
  timestamp,
  withMeta,
} from './objects.ts';
import { mayGo, takeObject } from './removal.ts';
import { alreadyExists, badRequest, cause, conflict, forbidden, invalid, unexplained } from './status.ts';

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
