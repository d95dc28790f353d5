/** The options of a controller. */
import type { KindOf, KubernetesObject, ObjectOf, TypeOf, UntypedObject } from '../../rest/api/kubernetes-object.ts';
import type { RestConfig } from '../../rest/rest-config.ts';
import type { Cluster } from '../cluster.ts';
import type { Informer } from '../informer/informer.ts';
import type { InformerOptions } from '../informer/options.ts';
import type { ClusterChange } from '../membership/reach.ts';
import type { ReconcileTrigger } from '../telemetry.ts';

/** An object to reconcile. */
export interface ReconcileRequest {
  /** Absent for resources without namespaces. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Of a reconcile of an object of the hub. */
export interface HubReconcileContext<T extends KubernetesObject = UntypedObject> {
  /** The object as the cache has it; `undefined` after it was deleted. Shared: do not change it. */
  readonly object: T | undefined;
  /**
   * Aborted when the cluster is disengaged, or the object of the hub is another replica's, after `reconcileTimeoutMs`, when the fleet ends, and
   * when the reconcile has ended. Pass it to your requests.
   */
  readonly signal: AbortSignal;
  /** Of this reconcile: its requests, and the lines and events about it, have it too. */
  readonly reconcileId: string;
  /** Why it runs: up to ten reasons. */
  readonly triggers: readonly ReconcileTrigger[];
  /**
   * Takes what this reconcile has written with another client than `cluster.resource` and `hub.resource`, whose writes are known: the
   * object that the API server returned. The next reconcile of the same item waits until the caches of this controller have it: `for`, `owns`
   * and `watches` that select it. After ten seconds it continues, with a warning.
   *
   * @param server where it was written: `hub`, or a cluster. @default the cluster of this reconcile; in a controller of the hub, the hub
   * @throws TypeError if `object` has no `apiVersion`, `kind` or `metadata.resourceVersion`, such as the `Status` that a delete may return
   */
  wrote(object: WrittenObject, server?: RestConfig | Cluster): void;
  /** The config of the hub. With `sharding` nothing is sent through it after the shard of the cluster, or of the object, was lost. */
  readonly hub: RestConfig;
  /** Returns a cache of the hub, as `fleet.hub.informer` does: the one of a source if the options are equal. */
  hubInformer<
    O extends KubernetesObject = never,
    const A extends string = string,
    const K extends string = string,
    const M extends boolean = boolean,
  >(options: InformerOptions<TypeOf<O, A, K, M>> & KindOf<A, K, M>): Informer<TypeOf<O, A, K, M>>;
}

/** Of a reconcile of an object of a cluster. */
export interface ReconcileContext<T extends KubernetesObject = UntypedObject> extends HubReconcileContext<T> {
  readonly cluster: Cluster;
}

/** What a write returns: an object as caches have it, or a model of client-node. */
export interface WrittenObject {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata?: {
    readonly namespace?: string;
    readonly name?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly resourceVersion?: string;
  };
}

/** The result of a reconcile. */
export interface ReconcileResult {
  /** Milliseconds after which the object is reconciled again, whatever happens until then. */
  readonly requeueAfterMs?: number | undefined;
}

/** A resource whose changes lead to reconciles. */
export interface ControllerSource<T extends KubernetesObject = UntypedObject> extends InformerOptions<T> {
  /** Namespaces of the objects, in place of one `namespace`. Each is listed and watched by itself. Default: all. */
  readonly namespaces?: readonly string[] | undefined;
  /**
   * Says whether a change counts, for example `generationChanged`. It is asked about changes of cached objects only: new objects, those
   * of the first list included, and deleted ones always count. If it throws, that is logged, and the change counts.
   *
   * @default every change
   */
  readonly when?: { of(before: T, after: T): boolean }['of'] | undefined;
}

/** Another resource whose changes lead to reconciles on a cluster. */
export interface ControllerWatch<T extends KubernetesObject = UntypedObject> extends ControllerSource<T> {
  /**
   * `'hub'`: its objects are on the hub, and `map` is called for each cluster that is engaged in this process, also when another one is
   * engaged.
   *
   * @default they are on the cluster
   */
  readonly on?: 'hub' | undefined;
  /** Returns what to reconcile on this cluster after a change of this object. Called with the object before the change, too. */
  map(object: T, context: { readonly cluster: Cluster }): readonly ReconcileRequest[];
}

/** Another resource whose changes lead to reconciles of objects of the hub. */
export type HubControllerWatch<T extends KubernetesObject = UntypedObject> = ControllerSource<T> &
  (
    | {
        /** @default `'hub'` */
        readonly on?: 'hub' | undefined;
        map(object: T): readonly ReconcileRequest[];
      }
    | {
        /** Its objects are on the clusters that are engaged in this process. */
        readonly on: 'clusters';
        map(object: T, context: { readonly cluster: Cluster }): readonly ReconcileRequest[];
      }
  );

/** The clusters of the fleet themselves, for controllers of the hub: each is reported by the replica that works on it. */
export interface FleetWatch {
  readonly on: 'fleet';
  /**
   * Milliseconds for which a cluster cannot be engaged, or does not answer, before it is `Unreachable`: 1 or more. While such a controller
   * runs, engaged clusters are asked for their version: three times in that time, and at least every 20 s.
   *
   * @default 60_000
   */
  readonly graceMs?: number | undefined;
  /** Returns what to reconcile on the hub. At a start, and after a shard has come, it is called with the state of each cluster. */
  map(change: ClusterChange): readonly ReconcileRequest[];
}

/** Watches: the first two have the types of their kinds, the objects of others are `KubernetesObject`s. */
export type ControllerWatches<A1 extends string, K1 extends string, A2 extends string, K2 extends string> = readonly [
  (ControllerWatch<ObjectOf<A1, K1>> & KindOf<A1, K1>)?,
  (ControllerWatch<ObjectOf<A2, K2>> & KindOf<A2, K2>)?,
  ...ControllerWatch[],
];

/**
 * The same for a controller of the hub. No element is optional: without `exactOptionalPropertyTypes` it could be `undefined`, and then
 * TypeScript does not find the type of a watch without `on`.
 */
export type HubControllerWatches<A1 extends string, K1 extends string, A2 extends string, K2 extends string> =
  | readonly []
  | readonly [HubWatch<A1, K1>]
  | readonly [HubWatch<A1, K1>, HubWatch<A2, K2>, ...(HubControllerWatch | FleetWatch)[]];

type HubWatch<A extends string, K extends string> = (HubControllerWatch<ObjectOf<A, K>> & KindOf<A, K>) | FleetWatch;

/** What all controllers have. */
export interface CommonOptions {
  /** Used in logs and metrics; unique in a fleet. */
  readonly name: string;
  /** Resources that objects of `for` own as controllers, in the same place: after a change the owner is reconciled. */
  readonly owns?: readonly ControllerSource<KubernetesObject>[] | undefined;
  /**
   * Reconciles at once, over all clusters: 1 or more. A quarter of these slots is reserved for clusters without a running reconcile, so that
   * clusters whose reconciles hang do not delay the others. If as many clusters hang as there are reserved slots, they can fill
   * every slot until they time out: set it to a few times the number of clusters that may hang together.
   *
   * @default 100
   */
  readonly concurrency?: number | undefined;
  /** Reconciles at once in one cluster, or on the hub: 1 or more. Default: 4. */
  readonly perClusterConcurrency?: number | undefined;
  /** Milliseconds until the signal of a reconcile aborts and it counts as failed: 1 or more. Default: 120_000. */
  readonly reconcileTimeoutMs?: number | undefined;
  /**
   * Milliseconds before a failed object is retried: the first pause, which doubles with each failure, and the longest.
   *
   * @default { firstMs: 5, longestMs: 1_000_000 }
   */
  readonly backoff?: { readonly firstMs?: number | undefined; readonly longestMs?: number | undefined } | undefined;
}

/** What most reconcile functions return is nothing, and they are async. */
// biome-ignore lint/suspicious/noConfusingVoidType: as above
export type ReconcileReturn = Promise<ReconcileResult | void> | ReconcileResult | void;

/** Options of `fleet.controller`. */
export interface ControllerOptions<
  T extends KubernetesObject = UntypedObject,
  Watches extends readonly (object | undefined)[] = readonly ControllerWatch[],
> extends CommonOptions {
  /** The resource that is reconciled, on every cluster. */
  readonly for: ControllerSource<T>;
  readonly watches?: Watches | undefined;
  /** Reconciles one object. Calls for one object of a cluster never overlap; after an error the object is retried. */
  reconcile(request: ReconcileRequest, context: ReconcileContext<T>): ReconcileReturn;
}

/** Options of `fleet.controller` for objects of the hub. With `sharding` each is reconciled by one replica. */
export interface HubControllerOptions<
  T extends KubernetesObject = UntypedObject,
  Watches extends readonly (object | undefined)[] = readonly (HubControllerWatch | FleetWatch)[],
> extends CommonOptions {
  /** The resource that is reconciled, on the hub. */
  readonly for: ControllerSource<T> & { readonly on: 'hub' };
  readonly watches?: Watches | undefined;
  /** Reconciles one object. Calls for one object never overlap, in this process; after an error the object is retried. */
  reconcile(request: ReconcileRequest, context: HubReconcileContext<T>): ReconcileReturn;
}

/** An item for a controller. */
export interface EnqueueRequest extends ReconcileRequest {
  /**
   * `namespace/name` of the ClusterProfile. Not for objects of the hub.
   *
   * @default every cluster that is engaged in this process
   */
  readonly cluster?: string | undefined;
}

/** A controller that was added to a fleet. */
export interface ControllerHandle {
  /**
   * Queues an item, for a change that no cache shows: of a webhook, a queue, a timer. Returns `false`, and does nothing, if the cluster
   * is not engaged in this process.
   *
   * @throws ConfigurationError `OPTION_INVALID` if it is not a request
   */
  enqueue(request: EnqueueRequest): boolean;
}
