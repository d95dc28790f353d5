/** Deletion: preconditions, finalizers that hold an object back, and what follows for what belongs to it. */

import { z } from 'zod';
import type { ApiState } from './api-state.ts';
import { isObject, type Json, type JsonObject } from './json.ts';
import { timestamp } from './metadata.ts';
import { type KubernetesObject, keyOf, present, type StoredObject, withMeta } from './objects.ts';
import { type ResourceType, storageKeyOf } from './resource-type.ts';
import { afterRemoval, endNamespace } from './side-effects.ts';
import { badRequest, cause, conflict, invalid, notFound, notImplemented } from './status.ts';

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

const optionsSchema = z.object({
  dryRun: z.array(z.string()).nullish(),
  gracePeriodSeconds: z.number().nullish(),
  orphanDependents: z.boolean().nullish(),
  propagationPolicy: z.string().nullish(),
  preconditions: z.object({ uid: z.string().nullish(), resourceVersion: z.string().nullish() }).nullish(),
});

/** The options of a deletion, from its body, or from the query where it has none. Throws a 400, 422 or 501. */
export function deleteOptionsOf(query: URLSearchParams, body: Json | undefined): DeleteOptions {
  const given = body === undefined ? fromQuery(query) : body;
  if (isObject(given) && given.kind !== undefined && given.kind !== 'DeleteOptions') {
    throw badRequest(`a body of kind ${String(given.kind)} cannot be handled as a DeleteOptions`);
  }
  const parsed = optionsSchema.safeParse(given);
  if (!parsed.success) throw badRequest(`DeleteOptions cannot be read: ${z.prettifyError(parsed.error)}`);
  const { dryRun, orphanDependents, propagationPolicy, preconditions } = parsed.data;
  const causes = [
    ...((orphanDependents ?? null) !== null && (propagationPolicy ?? null) !== null
      ? [
          cause.invalid(
            'propagationPolicy',
            propagationPolicy,
            'orphanDependents and deletionPropagation cannot be both set',
          ),
        ]
      : []),
    ...(['Foreground', 'Background', 'Orphan'].includes(propagationPolicy ?? 'Background')
      ? []
      : [
          cause.notSupported('propagationPolicy', propagationPolicy ?? '', [
            'Foreground',
            'Background',
            'Orphan',
            'nil',
          ]),
        ]),
    ...((dryRun ?? []).some((value) => value !== 'All') ? [cause.notSupported('dryRun', String(dryRun), ['All'])] : []),
  ];
  if (causes.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', causes);
  if ((propagationPolicy ?? 'Background') !== 'Background' || (orphanDependents ?? null) !== null) {
    throw notImplemented('a deletion in the foreground, or one that leaves orphans: it has no garbage collector');
  }
  return {
    dryRun: (dryRun ?? []).length > 0,
    uid: preconditions?.uid ?? undefined,
    resourceVersion: preconditions?.resourceVersion ?? undefined,
  };
}

function fromQuery(query: URLSearchParams): JsonObject {
  const orphan = query.get('orphanDependents');
  return {
    dryRun: query.getAll('dryRun'),
    propagationPolicy: query.get('propagationPolicy'),
    orphanDependents: orphan === null ? null : orphan !== 'false' && orphan !== '0',
  };
}

/** Deletes an object, or marks it where a finalizer holds it. What comes back is sent. */
export function deleteObject(
  state: ApiState,
  type: ResourceType,
  namespace: string | undefined,
  name: string,
  options: DeleteOptions,
): KubernetesObject | JsonObject {
  const collection = state.store.collection(storageKeyOf(type));
  const key = keyOf(namespace, name);
  const object = collection.get(key);
  if (!object) throw notFound(type, name);
  checkPreconditions(type, object, options);
  if (type === state.namespaces) return present(type, deleteNamespace(state, object, options.dryRun));
  if ((object.metadata.finalizers ?? []).length > 0) {
    if (object.metadata.deletionTimestamp !== undefined) return present(type, object);
    const marked = markDeleted(state, object);
    return present(type, options.dryRun ? marked : collection.put(key, marked));
  }
  const gone = options.dryRun ? object : (collection.delete(key) ?? object);
  if (!options.dryRun) afterRemoval(state, type, object);
  if (type.returnsDeleted) return present(type, gone);
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...(type.group === '' ? {} : { group: type.group }), kind: type.plural, uid: object.metadata.uid },
  };
}

/** A namespace ends once all that is in it has gone. */
function deleteNamespace(state: ApiState, namespace: StoredObject, dryRun: boolean): StoredObject {
  if (namespace.metadata.deletionTimestamp !== undefined) return namespace;
  const marked = withMeta(
    { ...namespace, status: { ...(isObject(namespace.status) ? namespace.status : {}), phase: 'Terminating' } },
    { deletionTimestamp: timestamp(state.clock()) },
  );
  if (dryRun) return marked;
  const stored = state.store.collection(storageKeyOf(state.namespaces)).put(namespace.metadata.name, marked);
  endNamespace(state, namespace.metadata.name);
  return stored;
}

/** The object under deletion: its finalizers have to go before it does. */
export function markDeleted(state: ApiState, object: StoredObject): StoredObject {
  const { generation } = object.metadata;
  return withMeta(object, {
    deletionTimestamp: timestamp(state.clock()),
    deletionGracePeriodSeconds: 0,
    ...(generation === undefined ? {} : { generation: generation + 1 }),
  });
}

/** Kubernetes calls the object by its kind here, and a namespace's own handler by its plural. */
function checkPreconditions(type: ResourceType, { metadata }: StoredObject, options: DeleteOptions): void {
  const namespace = storageKeyOf(type) === 'namespaces.';
  for (const [field, given, there, hint] of [
    ['UID', options.uid, metadata.uid, 'The object might have been deleted and then recreated'],
    ['ResourceVersion', options.resourceVersion, metadata.resourceVersion, 'The object might have been modified'],
  ] as const) {
    if (given === undefined || given === there) continue;
    const inRecord = `the ${field} in the precondition (${given}) does not match the ${field} in record (${there}). ${hint}`;
    const inMeta = `Precondition failed: ${field} in precondition: ${given}, ${field} in object meta: ${there}`;
    throw conflict(namespace ? type : { ...type, plural: type.kind }, metadata.name, namespace ? inMeta : inRecord);
  }
}
