/** Which requests an object leads to, and predicates for its changes. */
import { isDeepStrictEqual } from 'node:util';
import { checkArgument } from '../../errors/index.ts';
import type { Kind } from '../../rest/api/api-server.ts';
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import { isObject, isString, isText } from '../../util/guards.ts';
import type { EnqueueRequest, ReconcileRequest, WrittenObject } from './options.ts';

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
  checkArgument(where, 'request', request, isObject, 'an object with a name');
  const { cluster, namespace, name } = request;
  checkArgument(where, 'name', name, isText, 'a name');
  checkArgument(where, 'namespace', namespace, (value) => value === undefined || isString(value), 'a namespace');
  const what = onHub ? 'left out: objects of the hub have no cluster' : 'the name of a ClusterProfile: namespace/name';
  checkArgument(where, 'cluster', cluster, (value) => value === undefined || (!onHub && isText(value)), what);
  return { name, ...(namespace ? { namespace } : {}), ...(cluster === undefined ? {} : { cluster }) };
}

/** The controlling owner, if it is of this kind in any version. */
export function ownersOf(
  { metadata: { ownerReferences, namespace } }: KubernetesObject,
  kind: Kind,
  namespaced: boolean,
): readonly ReconcileRequest[] {
  // Go may write an empty list as null.
  const owners = (ownerReferences ?? []).filter((owner) => owner.controller && isOfKind(owner, kind));
  return owners.map(({ name }) => (namespaced && namespace !== undefined ? { name, namespace } : { name }));
}

/** Whether an object is of this kind, in any version. */
export function isOfKind({ apiVersion = '', kind }: Pick<WrittenObject, 'apiVersion' | 'kind'>, other: Kind): boolean {
  return kind === other.kind && groupOf(apiVersion) === groupOf(other.apiVersion);
}

/** Empty for the core group. */
function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.replace(/\/.*/, '') : '';
}

/** Whether `metadata.generation` has changed: the spec, and not the status. Objects without a generation (ConfigMaps, Secrets) count as changed. */
export function generationChanged(
  { metadata: before }: KubernetesObject,
  { metadata: after }: KubernetesObject,
): boolean {
  return after.generation === undefined || before.generation !== after.generation;
}

/** Whether `metadata.labels` have changed. */
export function labelsChanged(before: KubernetesObject, after: KubernetesObject): boolean {
  return !isDeepStrictEqual(before.metadata.labels ?? {}, after.metadata.labels ?? {});
}

/** Whether `metadata.annotations` have changed. */
export function annotationsChanged(before: KubernetesObject, after: KubernetesObject): boolean {
  return !isDeepStrictEqual(before.metadata.annotations ?? {}, after.metadata.annotations ?? {});
}
