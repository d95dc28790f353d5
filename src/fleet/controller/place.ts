/** Where a controller works: a cluster, or the hub; and what controllers know of their fleet. */
import { FleetError } from '../../errors/index.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../clock.ts';
import type { Cluster } from '../cluster.ts';
import type { LogFields } from '../guard.ts';
import type { Hub } from '../hub.ts';
import type { Informers } from '../informer/informers.ts';
import { type Fence, type Ownership, shardLost } from '../membership/ownership.ts';
import type { ClusterChange, Reach } from '../membership/reach.ts';
import type { FleetObserver } from '../telemetry.ts';

export interface ControllerContext {
  readonly hub: Hub;
  readonly hubPlace: HubPlace;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: FleetObserver | undefined;
  engaged(): Iterable<Cluster>;
  /** Resolves when every cluster has been tried, and the caches of the engaged ones are filled. */
  synced(): Promise<void>;
  /** Reports the state of this replica's clusters: the current one, and each change that lasts. */
  reach(graceMs: number, tell: (change: ClusterChange) => void): Reach;
}

export interface Place {
  /** For messages. */
  readonly name: string;
  readonly fields: LogFields;
  /** Absent on the hub. */
  readonly cluster?: Cluster;
  /** Aborted when all work there has to end. */
  readonly signal: AbortSignal;
  readonly informers: Informers;
  /** Whether this process reconciles the object with this key. */
  owns(key: string): boolean;
  /** Begins a reconcile; `undefined` if another process reconciles the object. */
  enter(key: string): Tenure | undefined;
}

/** The time of one reconcile. */
export interface Tenure {
  /** Aborted when the reconcile has to end, because of its place. */
  readonly signal: AbortSignal;
  /** Of the shard of its cluster, or of its object. */
  readonly fence: Fence | undefined;
  /** The reconcile has ended, or was abandoned. */
  leave(): void;
}

/** A cluster is reconciled as a whole: it is engaged here, and nowhere else. */
export function clusterPlace(cluster: Cluster): Place {
  const { name, signal, fence, informers } = cluster;
  return {
    ...{ name, signal, cluster, informers, fields: { cluster: name } },
    owns: () => true,
    enter: () => ({ signal, fence, leave: () => {} }),
  };
}

/** Replicas share the hub object by object: each belongs to a shard, by its key. */
export class HubPlace implements Place {
  readonly name = 'the hub';
  readonly fields: LogFields;
  readonly signal: AbortSignal;
  readonly informers: Informers;
  readonly #ownership: Ownership;
  readonly #tenures = new Set<{ readonly key: string; lose(): void }>();

  /** `signal` aborts when the fleet ends. */
  constructor({ config, informers }: Hub, ownership: Ownership, signal: AbortSignal) {
    this.#ownership = ownership;
    this.signal = signal;
    this.informers = informers;
    this.fields = { hub: config.getCurrentCluster()?.server };
    const lose = () => {
      for (const tenure of this.#tenures) tenure.lose();
    };
    this.signal.addEventListener('abort', lose, { once: true });
  }

  owns(key: string): boolean {
    return this.#ownership.ownerOf(key).mine;
  }

  enter(key: string): Tenure | undefined {
    const owner = this.#ownership.ownerOf(key);
    if (!owner.mine) return undefined;
    const abort = new AbortController();
    const lose = () => abort.abort(this.#whyLost(key));
    const tenure = { key, lose };
    owner.fence?.signal.addEventListener('abort', lose, { once: true });
    this.#tenures.add(tenure);
    this.#ownership.enter(key, tenure);
    return {
      signal: abort.signal,
      fence: owner.fence,
      leave: () => {
        owner.fence?.signal.removeEventListener('abort', lose);
        this.#tenures.delete(tenure);
        this.#ownership.leave(key, tenure);
      },
    };
  }

  /** Objects with these keys may be another replica's now. */
  ownersChanged(affects: (key: string) => boolean): void {
    for (const { key, lose } of this.#tenures) if (affects(key) && !this.owns(key)) lose();
  }

  #whyLost(key: string): FleetError {
    if (this.signal.aborted) return new FleetError('FLEET_CLOSED', 'the fleet ends');
    const owner = this.#ownership.ownerOf(key);
    const { reason, message } = owner.mine ? shardLost : owner;
    return new FleetError('LEASE_LOST', `${key} on the hub is let go (${reason}): ${message}`, { reason });
  }
}
