/** Deletion: its options and preconditions, and what is answered. */

import { z } from 'zod';
import type { ApiState } from './api-state.ts';
import { isObject, type Json, type JsonObject } from './json.ts';
import { type KubernetesObject, keyOf, present, type StoredObject } from './objects.ts';
import { remove } from './removal.ts';
import { type ResourceType, storageKeyOf } from './resource-type.ts';
import { badRequest, conflict, forbidden, notFound, notImplemented } from './status.ts';

/** The preconditions of a deletion. */
export interface DeleteOptions {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

const optionsSchema = z.object({
  dryRun: z.array(z.string()).nullish(),
  gracePeriodSeconds: z.int().nullish(),
  propagationPolicy: z.string().nullish(),
  preconditions: z.object({ uid: z.string().nullish(), resourceVersion: z.string().nullish() }).nullish(),
});

/** The options of a deletion, from its body, or from the query where it has none. Throws a 400 or 501. */
export function deleteOptionsOf(query: URLSearchParams, body: Json | undefined): DeleteOptions {
  const given = body === undefined ? fromQuery(query) : body;
  if (isObject(given) && given.kind !== undefined && given.kind !== 'DeleteOptions') {
    throw badRequest(`a body of kind ${String(given.kind)} cannot be handled as a DeleteOptions`);
  }
  const parsed = optionsSchema.safeParse(given);
  if (!parsed.success) throw badRequest(`DeleteOptions cannot be read: ${z.prettifyError(parsed.error)}`);
  const { dryRun, propagationPolicy, preconditions } = parsed.data;
  const policy = propagationPolicy ?? 'Background';
  if (policy !== 'Background') {
    throw notImplemented(`a deletion with propagationPolicy ${policy}: it has no garbage collector`);
  }
  if (dryRun?.length) throw notImplemented('dryRun');
  return { uid: preconditions?.uid ?? undefined, resourceVersion: preconditions?.resourceVersion ?? undefined };
}

const fromQuery = (query: URLSearchParams): JsonObject => ({
  dryRun: query.getAll('dryRun'),
  propagationPolicy: query.get('propagationPolicy'),
});

/** Deletes an object, or marks it if something keeps it. Returns the response. */
export function deleteObject(
  state: ApiState,
  type: ResourceType,
  namespace: string | undefined,
  name: string,
  options: DeleteOptions,
): KubernetesObject | JsonObject {
  if (type === state.namespaces && immortal.includes(name)) {
    throw forbidden(type, name, 'this namespace may not be deleted');
  }
  const object = state.store.collection(storageKeyOf(type)).get(keyOf(namespace, name));
  if (!object) throw notFound(type, name);
  checkPreconditions(type, object, options);
  const { object: last, gone } = remove(state, type, object);
  if (type.returnsDeleted || !gone) return present(type, last);
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...(type.group === '' ? {} : { group: type.group }), kind: type.plural, uid: object.metadata.uid },
  };
}

/** These namespaces cannot be deleted. */
const immortal = ['default', 'kube-system', 'kube-public'];

/** Kubernetes calls the object by its kind here. */
function checkPreconditions(type: ResourceType, { metadata }: StoredObject, options: DeleteOptions): void {
  for (const [field, given, there, hint] of [
    ['UID', options.uid, metadata.uid, 'The object might have been deleted and then recreated'],
    ['ResourceVersion', options.resourceVersion, metadata.resourceVersion, 'The object might have been modified'],
  ] as const) {
    if (given === undefined || given === there) continue;
    const why = `the ${field} in the precondition (${given}) does not match the ${field} in record (${there}). ${hint}`;
    throw conflict({ ...type, plural: type.kind }, metadata.name, why);
  }
}
