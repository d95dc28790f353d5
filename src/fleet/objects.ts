/** Conditions, finalizers and owners of an object, with the rules of apimachinery. Objects of a cache are shared: nothing here changes one. */
import type { Condition } from '../access/cluster-profile.ts';
import { ConfigurationError } from '../errors/index.ts';
import type { KubernetesObject, OwnerReference } from '../rest/api/kubernetes-object.ts';
import type { RestConfig } from '../rest/rest-config.ts';
import type { Cluster } from './cluster.ts';

/** Any condition: a `Condition`, or one of a model of client-node as the wire has it. */
export interface ConditionLike {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

/**
 * Sets the condition of one type, as apimachinery's `meta.SetStatusCondition` does. Its `lastTransitionTime` changes only when its
 * `status` does. It is the current time if you give none.
 *
 * @returns a new list; the same one if nothing has changed
 * @example
 * const before = object.status?.conditions;
 * const conditions = setCondition(before, { type: 'Ready', status: 'True', reason: 'Synced' });
 * if (conditions !== before) console.log('write the status', conditions);
 */
export function setCondition<C extends ConditionLike = Condition>(
  conditions: readonly C[] | null | undefined,
  condition: Omit<NoInfer<C>, 'message' | 'lastTransitionTime'> & Pick<ConditionLike, 'message' | 'lastTransitionTime'>,
): readonly C[] {
  const given = condition as object as ConditionLike; // the compiler does not see what Omit leaves of a type parameter
  const before = conditions?.find(({ type }) => type === given.type);
  const since = before?.status === given.status ? before?.lastTransitionTime : given.lastTransitionTime;
  const { message = '' } = given;
  // As metav1.Time is written: RFC 3339 in whole seconds.
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  const after = { ...given, message, lastTransitionTime: since ?? now } as ConditionLike as C; // as above
  if (!conditions || !before) return [...(conditions ?? []), after];
  if (isSame(before, after)) return conditions;
  return conditions.map((one) => (one === before ? after : one));
}

function isSame(before: ConditionLike, after: ConditionLike): boolean {
  return (
    before.status === after.status &&
    (before.reason ?? '') === (after.reason ?? '') &&
    (before.message ?? '') === (after.message ?? '') &&
    (before.observedGeneration ?? 0) === (after.observedGeneration ?? 0)
  );
}

/** An object of a cache, or a model of client-node. */
export interface Finalized {
  readonly metadata?: { readonly finalizers?: readonly string[] };
}

/**
 * Adds a finalizer.
 *
 * @returns a changed copy; the same object if it has the finalizer
 * @example
 * const kept = addFinalizer(object, 'example.dev/cleanup');
 * if (kept !== object) console.log('write', kept.metadata.finalizers);
 */
export function addFinalizer<T extends Finalized>(object: T, finalizer: string): T {
  const finalizers = object.metadata?.finalizers ?? [];
  return finalizers.includes(finalizer) ? object : withFinalizers(object, [...finalizers, finalizer]);
}

/**
 * Removes a finalizer.
 *
 * @returns a changed copy; the same object if it does not have the finalizer
 */
export function removeFinalizer<T extends Finalized>(object: T, finalizer: string): T {
  const finalizers = object.metadata?.finalizers ?? [];
  const others = finalizers.filter((one) => one !== finalizer);
  return others.length === finalizers.length ? object : withFinalizers(object, others);
}

function withFinalizers<T extends Finalized>(object: T, finalizers: readonly string[]): T {
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

/**
 * Keeps an object until what was made for it is cleaned up. While the object lives, the finalizer is on it when this resolves: call it
 * before anything is made. When the object is deleted, `cleanup` is called, and the finalizer is removed if it resolves.
 *
 * @param context of the reconcile
 * @param finalizer for example `example.dev/cleanup`
 * @returns whether the object lives. If not, there is nothing left to do
 * @throws ApiError if the object cannot be written; 409 if it has changed since it was cached, so the reconcile is retried
 * @example
 * if (!(await finalized(context, 'example.dev/buckets', () => deleteBuckets(request.name)))) return;
 */
export async function finalized(
  { object, cluster, hub, signal }: FinalizedContext,
  finalizer: string,
  cleanup: () => unknown,
): Promise<boolean> {
  if (!object) return false;
  const { apiVersion, kind, metadata } = object;
  const lives = metadata.deletionTimestamp === undefined;
  if (!lives && !metadata.finalizers?.includes(finalizer)) return false;
  if (!lives) await cleanup();
  const after = lives ? addFinalizer(object, finalizer) : removeFinalizer(object, finalizer);
  if (after === object) return true;
  const { name, namespace, resourceVersion } = metadata;
  const { finalizers } = after.metadata;
  const objects = (cluster ?? hub).resource<KubernetesObject>({ apiVersion, kind, namespace });
  await objects.patch(name, { metadata: { finalizers, resourceVersion } }, { signal });
  return lives;
}

/** The context of a reconcile, on a cluster or on the hub. */
export interface FinalizedContext {
  readonly object: KubernetesObject | undefined;
  readonly cluster?: Pick<Cluster, 'resource'> | undefined;
  readonly hub: Pick<RestConfig, 'resource'>;
  readonly signal: AbortSignal;
}

/** An object of a cache, or of a response. */
export interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly uid?: string | undefined;
  };
}

/** An object to be written. */
export interface Owned {
  readonly metadata?:
    | { readonly namespace?: string | undefined; readonly ownerReferences?: readonly OwnerReference[] | undefined }
    | undefined;
}

/**
 * Makes `owner` the controller of an object: the object is deleted with it, and a controller with `owns` reconciles the owner when the
 * object changes. The arguments are in controller-runtime's order, but the object is copied, not changed.
 *
 * @returns a copy of the object with the owner reference
 * @throws ConfigurationError if the object has another controller, or is in another namespace than the owner
 * @example
 * await cluster.resource({ ...jobs, fieldManager: 'backup' }).apply(setControllerReference(object, { metadata, spec }));
 */
export function setControllerReference<T extends Owned>(owner: Owner, object: T): T {
  const { apiVersion, kind, metadata } = owner;
  const { name, namespace, uid = '' } = metadata;
  const refuse = (path: string, message: string) => {
    throw new ConfigurationError('OPTION_INVALID', 'setControllerReference', [{ path, message }]);
  };
  if (uid === '') refuse('owner', 'has no uid: give an object of a cache or of a response');
  const own = object.metadata?.namespace;
  if (namespace !== undefined && own !== namespace)
    refuse(
      'object',
      `is in namespace ${own ?? 'none'}, and its owner in ${namespace}: an owner is in the same namespace`,
    );
  const others = (object.metadata?.ownerReferences ?? []).filter((reference) => reference.uid !== uid);
  const other = others.find(({ controller }) => controller);
  if (other) refuse('object', `has another controller, ${other.kind} ${other.name}`);
  const reference = { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
  return { ...object, metadata: { ...object.metadata, ownerReferences: [...others, reference] } };
}
