/** Predicates: which changes of an object lead to a reconcile. */
import type { Logger } from '../../observability/logger.ts';
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import { ask, type LogFields } from '../guard.ts';
import type { Change } from '../informer/pending.ts';
import type { ControllerSource } from './options.ts';

/** Whether `metadata.generation` has changed: the spec, and not the status. Objects without a generation (ConfigMaps, Secrets) count as changed. */
export function generationChanged(
  { metadata: before }: KubernetesObject,
  { metadata: after }: KubernetesObject,
): boolean {
  return after.generation === undefined || before.generation !== after.generation;
}

/** Whether `metadata.labels` have changed. */
export function labelsChanged(before: KubernetesObject, after: KubernetesObject): boolean {
  return differ(before.metadata.labels, after.metadata.labels);
}

/** Whether `metadata.annotations` have changed. */
export function annotationsChanged(before: KubernetesObject, after: KubernetesObject): boolean {
  return differ(before.metadata.annotations, after.metadata.annotations);
}

type Texts = Readonly<Record<string, string>>;

function differ(before: Texts | null = {}, after: Texts | null = {}): boolean {
  const [ours, theirs] = [Object.entries(before ?? {}), after ?? {}];
  return ours.length !== Object.keys(theirs).length || ours.some(([key, value]) => theirs[key] !== value);
}

/**
 * Whether a change counts. New and deleted objects always do, also where one of the same name has replaced another: a predicate that
 * throws must not hide a change either.
 */
export function passes<T extends KubernetesObject>(
  { when, kind }: ControllerSource<T>,
  { key, before, after }: Change<T>,
  { logger, fields }: { readonly logger: Logger; readonly fields: LogFields },
): boolean {
  if (!when || !before || !after || before.metadata.uid !== after.metadata.uid) return true;
  return ask(logger, { ...fields, object: key }, `when of ${kind} ${key}`, () => when(before, after), isTrue) ?? true;
}

function isTrue(returned: unknown): boolean {
  if (typeof returned === 'boolean') return returned;
  throw new TypeError('it returned neither true nor false, and counts as true');
}
