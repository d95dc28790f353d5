/** The options of a controller. */
import { z } from 'zod';
import { milliseconds, text } from '../../options/option-schemas.ts';
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import type { Cluster } from '../cluster.ts';
import type { Informer } from '../informer/informer.ts';
import { type InformerOptions, informerShape } from '../informer/options.ts';
import { functionOf } from '../option-schemas.ts';

/** An object to reconcile. */
export interface ReconcileRequest {
  /** Absent for resources without namespaces. */
  readonly namespace?: string;
  readonly name: string;
}

export interface ReconcileContext<T extends KubernetesObject = KubernetesObject> {
  readonly cluster: Cluster;
  /** The object as the cache has it; `undefined` after it was deleted. Shared: do not change it. */
  readonly object: T | undefined;
  /** Aborted when the cluster is disengaged, after `reconcileTimeoutMs`, and when the fleet ends. Pass it to your requests. */
  readonly signal: AbortSignal;
  /**
   * Takes what this reconcile has written: the object that the API server returned. The next reconcile of the same item waits until the
   * caches of this controller have it: `for`, `owns` and `watches` of its kind. After ten seconds it goes on, with a warning.
   *
   * @throws TypeError if `object` has no `apiVersion`, `kind` or `metadata.resourceVersion`
   */
  wrote(object: WrittenObject): void;
}

/** What a write returns: an object as caches have it, or a model of client-node. */
export interface WrittenObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: { readonly namespace?: string; readonly resourceVersion?: string };
}

/** The result of a reconcile. */
export interface ReconcileResult {
  /** Milliseconds after which the object is reconciled again, whatever happens until then. */
  readonly requeueAfterMs?: number;
}

/** A resource whose changes lead to reconciles. */
export interface ControllerSource<T extends KubernetesObject = KubernetesObject> extends InformerOptions<T> {
  /**
   * Says whether a change counts, for example `generationChanged`. It is asked about changes of cached objects only: new objects, those
   * of the first list included, and deleted ones always count. If it throws, that is logged, and the change counts.
   *
   * @default every change
   */
  when?(before: T, after: T): boolean;
}

/** Another resource whose changes lead to reconciles. */
export interface ControllerWatch<T extends KubernetesObject = KubernetesObject> extends ControllerSource<T> {
  /** Returns what to reconcile in the same cluster after a change of this object. Called with the object before the change, too. */
  map(object: T, cluster: Cluster): readonly ReconcileRequest[];
}

/** Options of `fleet.controller`. */
export interface ControllerOptions<T extends KubernetesObject = KubernetesObject> {
  /** Used in logs and metrics; unique in a fleet. */
  readonly name: string;
  /** The resource that is reconciled. */
  readonly for: ControllerSource<T>;
  /** Resources that objects of `for` own as controllers: after a change the owner is reconciled. */
  readonly owns?: readonly ControllerSource[];
  readonly watches?: readonly ControllerWatch[];
  /**
   * Reconciles at once, over all clusters. A quarter of these slots is reserved for clusters without a running reconcile, so that
   * clusters whose reconciles hang do not delay the others. If as many clusters hang as there are reserved slots, they can fill
   * every slot until they time out: set it to a few times the number of clusters that may hang together.
   *
   * @default 100
   */
  readonly concurrency?: number;
  /**
   * Reconciles at once in one cluster.
   *
   * @default 4
   */
  readonly perClusterConcurrency?: number;
  /**
   * Milliseconds until the signal of a reconcile aborts and it counts as failed.
   *
   * @default 120_000
   */
  readonly reconcileTimeoutMs?: number;
  /**
   * Milliseconds before a failed object is retried: the first pause, which doubles with each failure, and the longest.
   *
   * @default { firstMs: 5, longestMs: 1_000_000 }
   */
  readonly backoff?: { readonly firstMs?: number; readonly longestMs?: number };
  /** Reconciles one object. Calls for one object of a cluster never overlap; after an error the object is retried. */
  reconcile(
    request: ReconcileRequest,
    context: ReconcileContext<T>,
    // biome-ignore lint/suspicious/noConfusingVoidType: most reconcile functions return nothing, and are async
  ): Promise<ReconcileResult | void> | ReconcileResult | void;
}

const wholeNumber = (fallback: number) =>
  z
    .int({ error: 'must be a whole number of 1 or more' })
    .min(1, { error: 'must be a whole number of 1 or more' })
    .default(fallback);

const sourceShape = { ...informerShape, when: functionOf('that returns true or false').optional() };
const sourceSchema = z.strictObject(sourceShape, { error: 'must be an object with apiVersion and kind' });

/** The informer of a source: sources that differ in their predicates share one. */
export function informerOf<T extends KubernetesObject>(cluster: Cluster, source: ControllerSource<T>): Informer<T> {
  const { when: _when, map: _map, ...options } = source as ControllerWatch<T>; // only a watch has a map
  return cluster.informer<T>(options);
}

/** @internal */
export const controllerSchema = z.strictObject({
  name: text('a name'),
  for: sourceSchema,
  owns: z.array(sourceSchema, { error: 'must be a list of objects with apiVersion and kind' }).default([]),
  watches: z
    .array(
      z.strictObject(
        { ...sourceShape, map: functionOf('that returns requests') },
        { error: 'must be an object with apiVersion, kind and map' },
      ),
      { error: 'must be a list of objects with apiVersion, kind and map' },
    )
    .default([]),
  concurrency: wholeNumber(100),
  perClusterConcurrency: wholeNumber(4),
  reconcileTimeoutMs: milliseconds(1).default(120_000),
  backoff: z
    .strictObject(
      { firstMs: milliseconds(1).default(5), longestMs: milliseconds(1).default(1_000_000) },
      { error: 'must be an object with firstMs and longestMs' },
    )
    .default({ firstMs: 5, longestMs: 1_000_000 }),
  reconcile: functionOf('reconcile(request, context)'),
});
