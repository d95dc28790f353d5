/**
 * The clusters of a fleet: profiles come in, and each cluster's lifecycle follows the verdicts of the membership. Of several profiles of
 * one cluster, the lifecycle of the next waits until the last has let it go.
 */
import { FleetError } from '../../errors/index.ts';
import type { Cluster, ClusterListing } from '../cluster.ts';
import type { Informer } from '../informer/informer.ts';
import { ClusterLifecycle, type LifecycleContext } from './cluster-lifecycle.ts';
import type { Basis, EngageHandler } from './engagement.ts';
import type { FleetProfile } from './identity.ts';
import type { Membership } from './membership.ts';
import type { Ownership } from './ownership.ts';
import { type ClusterChange, Reach } from './reach.ts';

const deleted = 'its ClusterProfile was deleted';

export class Clusters {
  readonly #membership: Membership;
  readonly #ownership: Pick<Ownership, 'enter' | 'leave'>;
  readonly #context: LifecycleContext;
  /** Aborted when the fleet ends: nothing is applied from then on. */
  readonly #stop: AbortSignal;
  readonly #lifecycles = new Map<string, ClusterLifecycle>();
  /** Which lifecycle has a cluster, by the result of `identify`. */
  readonly #holders = new Map<string, ClusterLifecycle>();
  readonly #reaches = new Set<Reach>();
  #isHubRead = false;

  constructor(
    membership: Membership,
    ownership: Pick<Ownership, 'enter' | 'leave'>,
    context: Omit<LifecycleContext, 'claim' | 'release' | 'moved'>,
    stop: AbortSignal,
  ) {
    this.#membership = membership;
    this.#ownership = ownership;
    this.#context = {
      ...context,
      claim: (cluster, lifecycle) => this.#claim(cluster, lifecycle),
      release: (cluster, lifecycle) => this.#release(cluster, lifecycle),
      moved: (lifecycle) => {
        for (const reach of this.#reaches) reach.look(lifecycle);
      },
    };
    this.#stop = stop;
  }

  profileChanged(name: string, profile: FleetProfile | undefined): void {
    this.#apply(profile ? this.#membership.set(name, profile) : this.#membership.delete(name));
  }

  placementChanged(clusters: ReadonlySet<string>): void {
    this.#apply(this.#membership.place(clusters));
  }

  /** All existing profiles have been reported. */
  hubRead(): void {
    this.#isHubRead = true;
    this.#context.changed();
  }

  ownersChanged(affects: (ownerKey: string) => boolean): void {
    this.#apply(this.#membership.namesOf(affects));
  }

  providersChanged(types: ReadonlySet<string>): void {
    for (const lifecycle of this.#lifecycles.values()) lifecycle.providersChanged(types);
    // Of two profiles of one cluster, another one may be usable now.
    this.#apply(this.#membership.namesOf(() => true));
  }

  handlerAdded(handler: EngageHandler): void {
    for (const lifecycle of this.#lifecycles.values()) lifecycle.handlerAdded(handler);
  }

  /** The hub has been read, every cluster has been tried, and the caches of the engaged ones are filled, as far as nothing fails. */
  get isSettled(): boolean {
    const areSettled = [...this.#lifecycles.values()].every(
      ({ isSettled, cluster, isGone }) => isGone || (isSettled && areTried(cluster?.informers ?? [])),
    );
    return this.#isHubRead && areSettled;
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

  get engaged(): readonly Cluster[] {
    return [...this.#lifecycles.values()].flatMap(({ cluster }) => cluster ?? []);
  }

  /** Applies the current verdicts of these profiles to their lifecycles. */
  #apply(names: Iterable<string>): void {
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
      } else if (lifecycle) lifecycle.update(profile, verdict);
      else this.#lifecycles.set(name, new ClusterLifecycle(name, profile, verdict, this.#context));
    }
    this.#context.changed();
  }

  /** Looks at all of them now, and at each change. */
  reach(graceMs: number, tell: (change: ClusterChange) => void): Reach {
    const reach = new Reach({ graceMs, tell, clock: this.#context.clock, signal: this.#stop });
    this.#reaches.add(reach);
    for (const lifecycle of this.#lifecycles.values()) reach.look(lifecycle);
    return reach;
  }

  /** Resolves when all of them are let go. */
  async close(): Promise<void> {
    const lifecycles = [...this.#lifecycles.values()];
    await Promise.all(lifecycles.map((lifecycle) => lifecycle.remove('FLEET_CLOSED', 'the fleet ends')));
  }

  #remove(lifecycle: ClusterLifecycle, reason: string, message: string): void {
    lifecycle.remove(reason, message).then(() => {
      if (this.#lifecycles.get(lifecycle.name) === lifecycle) this.#lifecycles.delete(lifecycle.name);
      // The profile may have been created again meanwhile.
      this.#apply([lifecycle.name]);
    });
  }

  #claim({ key, ownerKey }: Basis, lifecycle: ClusterLifecycle): boolean {
    const holder = this.#holders.get(key) ?? lifecycle;
    if (holder !== lifecycle) return false;
    this.#holders.set(key, lifecycle);
    this.#ownership.enter(ownerKey, lifecycle);
    return true;
  }

  #release({ key, ownerKey }: Basis, lifecycle: ClusterLifecycle): void {
    if (this.#holders.get(key) !== lifecycle) return;
    this.#holders.delete(key);
    // One of the others may wait for it.
    for (const name of this.#membership.sharing(key)) this.#lifecycles.get(name)?.wake();
    this.#ownership.leave(ownerKey, lifecycle);
  }

  #whyMissing(name: string): string {
    if (this.#stop.aborted) return `${name} cannot be used: the fleet has been closed`;
    const left = this.#membership.whyLeft(name) ?? (this.#lifecycles.has(name) ? deleted : undefined);
    if (left !== undefined) return `${name} is not in the fleet: ${left}`;
    return `${name} is not in the fleet${this.#isHubRead ? '' : ': the hub has not been read yet'}`;
  }
}

/** Each cache is filled, or fails. */
export function areTried(informers: Iterable<Informer>): boolean {
  return [...informers].every(({ hasSynced, problem }) => hasSynced || problem);
}
