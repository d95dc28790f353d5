/** Turns objects into requests. Pure. */
import type { KubernetesObject, OwnerReference } from '../kubernetes-object.ts';
import type { ReconcileRequest } from './options.ts';

export function requestOf({ metadata: { name, namespace } }: KubernetesObject): ReconcileRequest {
  return namespace === undefined ? { name } : { name, namespace };
}

export function readRequests(returned: unknown): readonly ReconcileRequest[] {
  const requests: readonly unknown[] = [...(returned as Iterable<unknown>)]; // throws where it is none
  return requests.map((request) => {
    const { name, namespace } = Object(request);
    if (typeof name !== 'string' || name === '') throw new TypeError('it returned a request without a name');
    if (namespace === undefined || namespace === '') return { name };
    if (typeof namespace === 'string') return { name, namespace };
    throw new TypeError(`it returned a request for ${name} with a namespace that is no text`);
  });
}

export function keyOfRequest({ name, namespace }: ReconcileRequest): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

/** The controlling owner, if it is of this kind in any version. @throws TypeError that names a field which cannot be read */
export function ownersOf(
  { metadata: { ownerReferences, namespace } }: KubernetesObject,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  namespaced: boolean | undefined,
): readonly ReconcileRequest[] {
  // No owner exists yet: the first one is reconciled when it is created.
  if (namespaced === undefined) return [];
  return readControllers(ownerReferences)
    .filter((owner) => owner.kind === kind && groupOf(owner.apiVersion) === groupOf(apiVersion))
    .map(({ name }) => (namespaced && namespace !== undefined ? { name, namespace } : { name }));
}

/** A server may send anything, and a transform may leave anything of it. */
function readControllers(references: unknown): readonly Pick<OwnerReference, 'apiVersion' | 'kind' | 'name'>[] {
  if (references === undefined || references === null) return [];
  if (!Array.isArray(references)) throw new TypeError('metadata.ownerReferences is no list');
  return references.flatMap((reference: unknown, index) => {
    const { apiVersion, kind, name, controller } = Object(reference) as Record<string, unknown>; // each is looked at here
    if (controller !== true) return [];
    const field = (value: unknown, of: string): string => {
      if (typeof value === 'string' && value !== '') return value;
      throw new TypeError(`metadata.ownerReferences[${index}].${of} is no text: a transform has to keep it`);
    };
    return [{ apiVersion: field(apiVersion, 'apiVersion'), kind: field(kind, 'kind'), name: field(name, 'name') }];
  });
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.replace(/\/.*/, '') : '';
}
