/**
 * A fleet that replicas share. Leases on the hub come in, and this replica's clusters go out. A cluster belongs to one of a fixed
 * number of shards. A shard belongs to the session that its Lease names, for as long as the replica of this session renews its
 * own Lease. This module must not know what a cluster is.
 */
import { guard } from '../guard.ts';
import type { Lease } from '../lease.ts';
import { type Owner, type OwnersChanged, type Ownership, shardLost } from '../membership/ownership.ts';
import {
  assignShards,
  identityOf,
  isReplica,
  leaseSelector,
  millisecondsTo,
  replicaLeaseName,
  type ShardingContext,
  shardOf,
  shardOfLease,
} from './names.ts';
import { ReplicaLease } from './replica-lease.ts';
import { Replicas } from './replicas.ts';
import { ShardingReport } from './report.ts';
import { Shard, type ShardContext } from './shard.ts';

export interface ShardingOptions extends ShardingContext {
  /**
   * Reports the existing Leases of the fleet and each change, in order for each Lease, until the signal aborts; one that is gone as it
   * was last.
   */
  readonly watch: (report: (lease: Lease, isGone: boolean) => void, signal: AbortSignal) => void;
  /** `shardCount`; the model of the tests has fewer. */
  readonly shards: number;
}

export class Sharding implements Ownership {
  readonly #options: ShardingOptions;
  readonly #shards: readonly Shard[];
  readonly #replicas: Replicas;
  readonly #own: ReplicaLease;
  readonly #report: ShardingReport;
  /** By shard, who should own it, as this replica sees it now. */
  #wanted: readonly (string | undefined)[] = [];
  /** Whether the fleet starts for the first time; `undefined` before the Leases were read. */
  #isNewFleet: boolean | undefined;
  #cancelExpiry = () => {};
  #ownersChanged: OwnersChanged | undefined;
  /** By shard, the owner that was reported last. */
  readonly #reported = new Map<Shard, string>();
  /** Shards whose change is reported at the end of this turn. */
  #unreported = new Set<Shard>();
  readonly #stop = new AbortController();

  constructor(options: ShardingOptions) {
    this.#options = options;
    this.#report = new ShardingReport(options);
    this.#replicas = new Replicas(options);
    const common = { ...options, replicas: this.#replicas, report: this.#report };
    this.#own = new ReplicaLease({
      ...common,
      read: () => this.#read(),
      sessions: () => this.#sessions,
      isGone: () => this.#shards.every(({ isGone }) => isGone),
      changed: () => this.#changed(),
    });
    const context: ShardContext = {
      ...common,
      own: this.#own,
      wants: (shard) => this.#wants(shard),
      changed: (shard) => this.#shardChanged(shard),
    };
    this.#shards = Array.from({ length: options.shards }, (_, index) => new Shard(index, context));
  }

  /** How many shards are this replica's. */
  get owned(): number {
    return this.#shards.filter(({ isOwned }) => isOwned).length;
  }

  /** How many replicas live, this one included if its session is valid. */
  get replicas(): number {
    return this.#replicas.size + (this.#own.isValid ? 1 : 0);
  }

  get isSettled(): boolean {
    if (!this.#own.isValid) return false;
    return this.#shards.every((shard) => shard.isOwned || !this.#wants(shard.index) || shard.liveHolder !== undefined);
  }

  ownerOf(key: string): Owner {
    return this.#ownerOf(this.#shardWith(key));
  }

  enter(key: string, work: object): void {
    this.#shardWith(key).works.add(work);
  }

  leave(key: string, work: object): void {
    const shard = this.#shardWith(key);
    if (!shard.works.delete(work) || shard.works.size > 0) return;
    shard.reconcile();
    this.#own.wake();
  }

  async run(changed: OwnersChanged, signal: AbortSignal): Promise<void> {
    this.#ownersChanged = changed;
    const report = (lease: Lease, isGone: boolean) => (isGone ? this.#deleted(lease) : this.#applied(lease));
    this.#options.watch(report, this.#stop.signal);
    const leave = () => {
      this.#own.leave();
      this.#changed();
    };
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    try {
      await this.#own.run();
    } finally {
      signal.removeEventListener('abort', leave);
      this.#stop.abort();
      this.#cancelExpiry();
      for (const shard of this.#shards) shard.stop();
    }
  }

  #shardWith(key: string): Shard {
    const index = shardOf(key, this.#shards.length);
    const shard = this.#shards[index];
    if (!shard) throw new RangeError(`there is no shard ${index}`);
    return shard;
  }

  #ownerOf(shard: Shard): Owner {
    const { index, term, liveHolder } = shard;
    if (term) return { mine: true, fence: term };
    if (liveHolder !== undefined && liveHolder !== this.#own.session) {
      const owner = identityOf(liveHolder);
      return { mine: false, reason: 'OWNED_BY_OTHER', message: `${owner} owns its shard ${index}`, owner };
    }
    // The next owner is not known while this replica cannot renew its Lease.
    if (shard.isLost) return { mine: false, ...shardLost };
    const wanted = this.#wanted[index];
    if (shard.isOwned && wanted !== undefined) {
      return { mine: false, reason: 'HANDED_OVER', message: `shard ${index} is on its way to ${wanted}` };
    }
    return {
      mine: false,
      reason: 'NO_OWNER',
      message: `its shard ${index} has no owner at the moment: ${this.#whyNoOwner(wanted)}`,
    };
  }

  #wants(shard: number): boolean | undefined {
    if (this.#own.isLeaving) return false;
    return this.#own.isValid ? this.#wanted[shard] === this.#options.identity : undefined;
  }

  /** A watch shows a Lease. */
  #applied(lease: Lease): void {
    if (!this.#observe(lease) || !isReplica(lease)) return;
    if (lease.metadata.name === this.#replicas.own.name) this.#own.observe(lease);
    this.#changed();
  }

  #deleted(last: Lease): void {
    if (isReplica(last)) {
      this.#replicas.viewOf(last.metadata.name).observeDeleted(last);
      // It writes its own again.
      if (last.metadata.name === this.#replicas.own.name) this.#own.renewNow();
      this.#changed();
      return;
    }
    const shard = this.#shardOf(last);
    if (shard?.view.observeDeleted(last)) shard.reconcile();
  }

  /** Returns whether that is news. */
  #observe(lease: Lease): boolean {
    if (isReplica(lease)) return this.#replicas.viewOf(lease.metadata.name).observe(lease);
    const shard = this.#shardOf(lease);
    if (!shard?.view.observe(lease)) return false;
    shard.reconcile();
    return true;
  }

  #shardOf(lease: Lease): Shard | undefined {
    return this.#shards[shardOfLease(this.#options.name, lease) ?? -1];
  }

  /** Reads all Leases. A shard whose Lease is missing has no owner. No replica takes it before all of them know that. */
  async #read(): Promise<void> {
    const before = this.#shards.map(({ view }) => view.lease);
    const all = await this.#options.leases.list(leaseSelector(this.#options.name));
    for (const lease of all) this.#observe(lease);
    const listed = new Set(all.map(({ metadata }) => metadata.name));
    const missing = this.#shards.filter(({ view }) => !listed.has(view.name));
    const wasNewFleet = this.#isNewFleet ?? missing.length === this.#shards.length;
    this.#isNewFleet = wasNewFleet && !this.#replicas.anyRenewed;
    for (const shard of this.#isNewFleet && !this.#own.isValid ? [] : missing) {
      // What was written since is not missing.
      if (shard.view.lease === before[shard.index] && shard.view.acceptAbsence()) shard.reconcile();
    }
    // A renewal does not wait for it.
    this.#deleteDead().then(
      () => this.#report.succeeded('dead replica'),
      (error: unknown) => this.#report.failed('dead replica', error),
    );
  }

  /** The first live replica deletes the Leases of dead ones that own no shard. */
  async #deleteDead(): Promise<void> {
    const { leases, name, identity } = this.#options;
    if (!this.#own.isValid || this.#replicas.candidates.some((other) => other < identity)) return;
    const needed = new Set([...this.#sessions].map((session) => replicaLeaseName(name, identityOf(session))));
    for (const lease of this.#replicas.dead) if (!needed.has(lease.metadata.name)) await leases.delete(lease);
  }

  /** All that the Leases of shards name. */
  get #sessions(): ReadonlySet<string> {
    return new Set(this.#shards.flatMap(({ view: { holder } }) => holder ?? []));
  }

  /** Computes who should own each shard, and reconciles every shard. */
  #changed(): void {
    const { clock, identity, shards, weight } = this.#options;
    const { isValid, isLeaving } = this.#own;
    const own = isValid && !isLeaving && weight > 0 ? [identity] : [];
    const candidates = [...new Set([...this.#replicas.candidates, ...own])];
    this.#cancelExpiry();
    const { nextExpiry } = this.#replicas;
    if (Number.isFinite(nextExpiry) && !this.#stop.signal.aborted)
      this.#cancelExpiry = clock.after(millisecondsTo(nextExpiry, clock), () => this.#changed());
    this.#wanted = assignShards(candidates, shards);
    for (const shard of this.#shards) shard.reconcile();
    if (isLeaving) this.#own.wake();
  }

  #shardChanged(shard: Shard): void {
    if (this.#own.isLeaving) this.#own.wake();
    const owner = JSON.stringify(this.#ownerOf(shard));
    if (this.#reported.get(shard) === owner) return;
    this.#reported.set(shard, owner);
    if (this.#unreported.size === 0) queueMicrotask(() => this.#reportOwners());
    this.#unreported.add(shard);
  }

  /** Reports all changes of a turn at once. */
  #reportOwners(): void {
    const changed = this.#unreported;
    this.#unreported = new Set();
    guard(this.#options.logger, {}, 'sharding', () => {
      this.#ownersChanged?.((key) => changed.has(this.#shardWith(key)));
    });
  }

  #whyNoOwner(wanted: string | undefined): string {
    const { isValid, isLeaving } = this.#own;
    if (!isValid && !isLeaving) return 'this replica has not written its own Lease in time, or not yet';
    if (wanted === undefined) return 'no replica wants shards';
    return `${wanted === this.#options.identity ? 'this replica' : wanted} is about to take it`;
  }
}
