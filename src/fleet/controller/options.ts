/** What a controller's author says. */
import { z } from 'zod';
import { milliseconds } from '../../option-schemas.ts';
import type { Cluster } from '../cluster.ts';
import type { InformerOptions } from '../informer/informer.ts';
import { informerSchema, informerShape } from '../informer/options.ts';
import type { KubernetesObject } from '../kubernetes-object.ts';
import { functionOf, text } from '../option-schemas.ts';

/** What is to be reconciled. */
export interface Request {
  /** Absent where the resource has none. */
  readonly namespace?: string;
  readonly name: string;
}

export interface ReconcileContext<T extends KubernetesObject = KubernetesObject> {
  readonly cluster: Cluster;
  /** The newest that is known; `undefined` where it is gone. Shared: do not change it. */
  readonly object: T | undefined;
  /** Aborted when the cluster is disengaged, the time is over, or the fleet ends. Hand it to what you call. */
  readonly signal: AbortSignal;
}

/** What a reconcile may return. */
export interface ReconcileReturn {
  /** Milliseconds after which it is wanted again, whatever happens. */
  readonly requeueAfterMs?: number;
}

/** Another resource whose changes matter. */
export interface ControllerWatch<T extends KubernetesObject = KubernetesObject> extends InformerOptions<T> {
  /** What has to be reconciled in the same cluster when this object has changed; asked for what it was, too. */
  map(object: T, cluster: Cluster): readonly Request[];
}

/** Options of `fleet.controller`. */
export interface ControllerOptions<T extends KubernetesObject = KubernetesObject> {
  /** In logs and metrics; one controller of a fleet for each name. */
  readonly name: string;
  /** What is reconciled. */
  readonly for: InformerOptions<T>;
  /** Resources whose controlling owner is one of `for`: their owner is reconciled. */
  readonly owns?: readonly InformerOptions[];
  readonly watches?: readonly ControllerWatch[];
  /**
   * Reconciles at once, over all clusters. A quarter of them is kept for clusters that have none under way, so that those whose
   * reconciles hang hold up no other. Where more clusters begin to hang at once than places are kept, the others
   * wait for one `reconcileTimeoutMs`: let it be some times as many as may hang together. Default: 100.
   */
  readonly concurrency?: number;
  /** Reconciles at once in one cluster. Default: 4. */
  readonly perClusterConcurrency?: number;
  /** Milliseconds until a reconcile's signal aborts, and it counts as failed. Default: 120_000. */
  readonly reconcileTimeoutMs?: number;
  /** Milliseconds that an item waits after a failure: at first, doubling, and at most. Default: 5 and 1_000_000. */
  readonly backoff?: { readonly firstMs?: number; readonly longestMs?: number };
  /** Brings one object to where it should be. Called for one object of a cluster once at a time; what it throws is tried again. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most reconcile functions return nothing, and are async
  reconcile(request: Request, context: ReconcileContext<T>): Promise<ReconcileReturn | void> | ReconcileReturn | void;
}

const wholeNumber = (fallback: number) =>
  z
    .int({ error: 'must be a whole number of 1 or more' })
    .min(1, { error: 'must be a whole number of 1 or more' })
    .default(fallback);

/** @internal */
export const controllerSchema = z.strictObject({
  name: text('a name'),
  for: informerSchema,
  owns: z.array(informerSchema, { error: 'must be a list of objects with apiVersion and kind' }).default([]),
  watches: z
    .array(
      z.strictObject(
        { ...informerShape, map: functionOf('that returns requests') },
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
