/** Reports what happens in a fleet to metrics and, if it is an event, on `diagnostics_channel`. Nothing of it is secret. */
import { type ObserverOf, reporter } from '../observability/telemetry.ts';
import type { RestartReason } from './reflect/restart.ts';

/** Where a cluster is on its way into use. */
export type ClusterState = 'Pending' | 'Engaging' | 'Engaged' | 'Backoff' | 'NotReady' | 'NotOwned' | 'Duplicate';

/** How a reconcile ended; the first four are controller-runtime's words. */
export type ReconcileOutcome = 'success' | 'error' | 'requeue_after' | 'timeout' | 'cancelled';

/** Why a reconcile runs. */
export interface ReconcileTrigger {
  /**
   * `event`: an object has changed. `start`: it was there when the controller began with its place, or became this replica's. `requeue`: the
   * reconcile before has returned `requeueAfterMs`. `retry`: it has failed. `enqueue`: the controller's handle was called.
   */
  readonly reason: 'event' | 'start' | 'requeue' | 'retry' | 'enqueue';
  /** The source that has the object. */
  readonly source?: 'for' | 'owns' | 'watches';
  /** `namespace/name` of the ClusterProfile; absent for objects of the hub. */
  readonly cluster?: string;
  readonly apiVersion?: string;
  readonly kind?: string;
  /** `namespace/name`. */
  readonly object?: string;
  /** The change of an object, or of the cluster. */
  readonly event?: 'Added' | 'Modified' | 'Deleted' | 'Engaged' | 'Unreachable' | 'Reachable' | 'Gone';
}

/** Event names are those of the channels, after `clusterprofile-credentials:fleet-`. */
export interface FleetEvents {
  /** A cluster came to another state, or left the fleet. */
  readonly cluster: {
    /** `namespace/name` of the ClusterProfile. */
    readonly cluster: string;
    /** `undefined` if it is in the fleet no more. */
    readonly state: ClusterState | undefined;
    /** A stable code. */
    readonly reason: string;
    readonly message: string;
  };
  readonly reconcile: {
    readonly reconcileId: string;
    readonly triggers: readonly ReconcileTrigger[];
    readonly controller: string;
    /** `undefined` for the hub. */
    readonly cluster: string | undefined;
    readonly namespace?: string | undefined;
    readonly name: string;
    readonly result: ReconcileOutcome;
    /** Milliseconds that it took. */
    readonly durationMs: number;
    /** Milliseconds that the item was queued before. */
    readonly waitedMs: number;
  };
  /** A reflector had to begin again. */
  readonly restart: {
    /** `undefined` for the hub. */
    readonly cluster: string | undefined;
    readonly apiVersion: string;
    readonly kind: string;
    readonly reason: RestartReason;
    /** Milliseconds until it continues. */
    readonly afterMs: number;
  };
  /** A `LeaderElection` was made, begins to lead, or leads no more. */
  readonly leader: {
    /** Of the Lease. */
    readonly name: string;
    readonly identity: string;
    readonly leading: boolean;
  };
  /** A shard came to this replica, or went from it. */
  readonly shard: {
    /** `sharding.name`. */
    readonly fleet: string;
    readonly shard: number;
    /**
     * `taken`: it was free. `taken_over`: its owner did not renew its Lease. `handed_over`: released on purpose. `lost`: this replica
     * could not renew its Lease in time, or another one owns the shard.
     */
    readonly change: 'taken' | 'taken_over' | 'handed_over' | 'lost';
    /** The identity of this replica. */
    readonly owner: string;
    /** `taken_over`: from whom. */
    readonly from?: string;
    /** Milliseconds since the last sign of the owner before, or since it released the shard. */
    readonly unownedMs?: number;
  };
  /** A request for a Lease failed. */
  readonly 'lease-failure': {
    /** `sharding.name`. */
    readonly fleet: string;
    /** Of a shard, or of this replica itself. */
    readonly lease: 'shard' | 'replica';
    readonly message: string;
  };
}

export type FleetObserver = ObserverOf<FleetEvents>;

export const { emit, isObserved } = reporter<FleetEvents>('fleet-');
