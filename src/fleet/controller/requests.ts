/** Turns objects into requests. Pure. */
import type { Kind } from '../../rest/api/discovery.ts';
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
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

/** The controlling owner, if it is of this kind in any version. */
export function ownersOf(
  { metadata: { ownerReferences, namespace } }: KubernetesObject,
  { apiVersion, kind }: Kind,
  namespaced: boolean,
): readonly ReconcileRequest[] {
  // Go may write an empty list as null.
  const owners = (ownerReferences ?? []).filter(
    (owner) => owner.controller && owner.kind === kind && groupOf(owner.apiVersion) === groupOf(apiVersion),
  );
  return owners.map(({ name }) => (namespaced && namespace !== undefined ? { name, namespace } : { name }));
}

/** Of an apiVersion; empty for the core group. */
export function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.replace(/\/.*/, '') : '';
}
