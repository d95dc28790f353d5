/** Turns objects into requests. Pure. */
import { checkArgument } from '../../errors/check-argument.ts';
import type { Kind } from '../../rest/api/discovery.ts';
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import { isObject, isString, isText } from '../../util/guards.ts';
import type { EnqueueRequest, ReconcileRequest } from './options.ts';

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

/** Checks what `enqueue` was called with. @throws ConfigurationError */
export function readEnqueueRequest(request: EnqueueRequest, controller: string, onHub: boolean): EnqueueRequest {
  const where = `enqueue of controller ${controller}`;
  const isAbsent = (value: unknown) => value === undefined;
  checkArgument(where, 'request', request, isObject, 'an object with a name');
  const { cluster, namespace, name } = request;
  checkArgument(where, 'name', name, isText, 'a name');
  checkArgument(where, 'namespace', namespace, (value) => isAbsent(value) || isString(value), 'a namespace');
  const what = onHub ? 'left out: objects of the hub have no cluster' : 'the name of a ClusterProfile: namespace/name';
  checkArgument(where, 'cluster', cluster, (value) => isAbsent(value) || (!onHub && isText(value)), what);
  return { name, ...(namespace ? { namespace } : {}), ...(cluster === undefined ? {} : { cluster }) };
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
