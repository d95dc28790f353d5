/** Conditions and finalizers of an object, with the rules of apimachinery. Pure: objects of a cache are shared. */
import type { Condition } from '../access/cluster-profile.ts';

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
 * `status` does. It is the current time where you give none.
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
  const after = { ...given, message, lastTransitionTime: since ?? timestamp(new Date()) } as ConditionLike as C; // as above
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

/** As metav1.Time is written: RFC 3339 in whole seconds. */
function timestamp(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
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
  if (!finalizers.includes(finalizer)) return object;
  return withFinalizers(
    object,
    finalizers.filter((one) => one !== finalizer),
  );
}

function withFinalizers<T extends Finalized>(object: T, finalizers: readonly string[]): T {
  return { ...object, metadata: { ...object.metadata, finalizers } };
}
