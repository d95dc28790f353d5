/** The clusters of a fleet: verdicts of the membership come in, and each cluster's lifecycle follows them, one lifecycle of a cluster at a time. */
import { FleetError } from '../../errors/index.ts';
import type { Cluster, ClusterListing } from '../cluster.ts';
import type { Informer } from '../informer/informer.ts';
import { type Claimed, ClusterLifecycle, type LifecycleContext } from './cluster-lifecycle.ts';
import type { Membership } from './membership.ts';
import type { Ownership } from './ownership.ts';
import { Reach, type ReachOptions } from './reach.ts';

const deleted = 'its ClusterProfile was deleted';

export class Clusters {
  readonly #membership: Membership;
  readonly #context: LifecycleContext;
  /** Aborted when the fleet ends: nothing is applied from then on. */
  readonly #stop: AbortSignal;
  readonly #lifecycles = new Map<string, ClusterLifecycle>();
  readonly #reaches = new Set<Reach>();
  #isKnown = false;

  constructor(membership: Membership, context: LifecycleContext, stop: AbortSignal) {
    this.#membership = membership;
    this.#context = context;
    this.#stop = stop;
  }

  /** The hub has been read. */
  known(): void {
    this.#isKnown = true;
    this.#context.changed();
  }

  /** The hub has been read, every cluster has been tried, and the caches of the engaged ones are filled, as far as nothing fails. */
  get isSettled(): boolean {
    return (
      this.#isKnown &&
      [...this.#lifecycles.values()].every(
        ({ isSettled, cluster, isGone }) => isGone || (isSettled && areTried(cluster?.informers ?? [])),
      )
    );
  }

  /** @throws FleetError `CLUSTER_NOT_FOUND`, `CLUSTER_NOT_READY` or `CLUSTER_NOT_OWNED` */
  get(name: string): Cluster {
    const lifecycle = this.#lifecycles.get(name);
    const cluster = lifecycle?.cluster;
    if (cluster) return cluster;
    if (!lifecycle || lifecycle.isGone)
      throw new FleetError('CLUSTER_NOT_FOUND', this.#whyMissing(name), { cluster: name });
    const { state, reason, message, owner } = lifecycle.status;
    const code = state === 'NotOwned' ? 'CLUSTER_NOT_OWNED' : 'CLUSTER_NOT_READY';
    const whose = owner === undefined ? '' : ` (owner: ${owner})`;
    throw new FleetError(code, `${name} cannot be used${whose}: it is ${state} (${reason}): ${message}`, {
      cluster: name,
      reason,
      ...(owner === undefined ? {} : { owner }),
    });
  }

  /** Sorted by name. */
  list(): readonly ClusterListing[] {
    const lifecycles = [...this.#lifecycles.values()].filter(({ isGone }) => !isGone);
    return lifecycles
      .map((lifecycle) => ({ name: lifecycle.name, ...lifecycle.status }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  [Symbol.iterator](): IterableIterator<ClusterLifecycle> {
    return this.#lifecycles.values();
  }

  /** Engaged at this moment. */
  get engaged(): readonly Cluster[] {
    return [...this.#lifecycles.values()].flatMap(({ cluster }) => cluster ?? []);
  }

  /** Applies the current verdicts of these profiles to their lifecycles. */
  apply(names: Iterable<string>): void {
    if (this.#stop.aborted) return;
    for (const name of [...names]) {
      const profile = this.#membership.profile(name);
      const verdict = this.#membership.verdict(name);
      const lifecycle = this.#lifecycles.get(name);
      if (!profile || !verdict) {
        if (lifecycle && !lifecycle.isGone) {
          const why = this.#membership.whyLeft(name);
          this.#remove(lifecycle, why === undefined ? 'PROFILE_DELETED' : 'NOT_SELECTED', why ?? deleted);
        }
      } else if (!lifecycle) {
        const added = new ClusterLifecycle(name, profile, this.#context);
        this.#lifecycles.set(name, added);
        added.update(profile, verdict);
      } else {
        lifecycle.update(profile, verdict);
      }
    }
    this.#context.changed();
  }

  /** Looks at all of them now, and at each change. */
  reach(options: ReachOptions): Reach {
    const reach = new Reach(options, (closed) => this.#reaches.delete(closed));
    this.#reaches.add(reach);
    for (const lifecycle of this) reach.look(lifecycle);
    return reach;
  }

  /** See `LifecycleContext`. */
  moved(lifecycle: ClusterLifecycle): void {
    for (const reach of this.#reaches) reach.look(lifecycle);
  }

  /** Resolves when all of them are let go. */
  async close(): Promise<void> {
    await Promise.all([...this].map((lifecycle) => lifecycle.remove('FLEET_CLOSED', 'the fleet ends')));
  }

  #remove(lifecycle: ClusterLifecycle, reason: string, message: string): void {
    lifecycle.remove(reason, message).then(() => {
      if (this.#lifecycles.get(lifecycle.name) === lifecycle) this.#lifecycles.delete(lifecycle.name);
      // The profile may have been created again meanwhile.
      this.apply([lifecycle.name]);
    });
  }

  #whyMissing(name: string): string {
    if (this.#stop.aborted) return `${name} cannot be used: the fleet has been closed`;
    const left = this.#membership.whyLeft(name) ?? (this.#lifecycles.has(name) ? deleted : undefined);
    if (left !== undefined) return `${name} is not in the fleet: ${left}`;
    return `${name} is not in the fleet${this.#isKnown ? '' : ': the hub has not been read yet'}`;
  }
}

/** Each cache is filled, or fails. */
export function areTried(informers: Iterable<Informer>): boolean {
  return [...informers].every(({ hasSynced, problem }) => hasSynced || problem);
}

/** Which lifecycle has a cluster: of several profiles of one, the next waits until the last has let it go. */
export class Claims {
  readonly #ownership: Pick<Ownership, 'enter' | 'leave'>;
  /** By the result of `identify`. */
  readonly #holders = new Map<string, ClusterLifecycle>();
  readonly #waiting = new Map<string, Set<ClusterLifecycle>>();

  constructor(ownership: Pick<Ownership, 'enter' | 'leave'>) {
    this.#ownership = ownership;
  }

  /** Claims the cluster. If that fails, the lifecycle is poked when the cluster is free. */
  claim({ key, ownerKey }: Claimed, lifecycle: ClusterLifecycle): boolean {
    const holder = this.#holders.get(key);
    if (holder && holder !== lifecycle) {
      this.#waiting.set(key, (this.#waiting.get(key) ?? new Set()).add(lifecycle));
      return false;
    }
    this.#holders.set(key, lifecycle);
    this.#ownership.enter(ownerKey, lifecycle);
    return true;
  }

  /** Gives the cluster back, if the lifecycle has it. */
  release({ key, ownerKey }: Claimed, lifecycle: ClusterLifecycle): void {
    if (this.#holders.get(key) !== lifecycle) return;
    this.#holders.delete(key);
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    for (const other of waiting) other.wake();
    this.#ownership.leave(ownerKey, lifecycle);
  }
}
