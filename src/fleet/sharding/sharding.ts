/**
 * A fleet that replicas share. Leases on the hub come in, and this replica's clusters go out. A cluster belongs to
 * one of a fixed number of shards, and a shard belongs to the holder of its Lease. This module must not know what a cluster is.
 */
import { randomBytes } from 'node:crypto';
import type { Logger } from '../../logger.ts';
import { within } from '../api-server.ts';
import type { Clock } from '../clock.ts';
import type { Lease } from '../lease/lease.ts';
import { LeaseLock } from '../lease/lease-lock.ts';
import { type Owner, type Ownership, type OwnershipListener, shardLost } from '../membership/ownership.ts';
import type { FleetObserver } from '../telemetry.ts';
import { assignShards, type Candidate } from './assignment.ts';
import { shardOf } from './hash.ts';
import type { LeaseSource } from './lease-source.ts';
import {
  holderName,
  identityOf,
  isPeer,
  labelsOf,
  peerAnnotations,
  peerLeaseName,
  shardLeaseName,
  shardOfLease,
} from './names.ts';
import { OwnershipChanges } from './ownership-changes.ts';
import { Peers } from './peers.ts';
import { Registration } from './registration.ts';
import { ShardingReport } from './report.ts';
import { Shard, type ShardContext } from './shard.ts';
import { believedMs, type Timing, timingOf } from './timing.ts';

export interface ShardingOptions {
  readonly leases: LeaseSource;
  /** Of the fleet: replicas with the same share it. */
  readonly name: string;
  readonly identity: string;
  readonly shards: number;
  readonly leaseDurationMs: number;
  weight(): number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: FleetObserver | undefined;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Tells this process from others that have the same identity. */
  readonly nonce?: string;
}

export class Sharding implements Ownership {
  readonly #options: ShardingOptions;
  readonly #timing: Timing;
  readonly #holder: string;
  readonly #shards: readonly Shard[];
  readonly #peers: Peers;
  readonly #registration: Registration;
  readonly #report: ShardingReport;
  readonly #changes: OwnershipChanges;
  /** By shard, the keys that are worked on. */
  readonly #inUse = new Map<number, Set<string>>();
  /** By shard, who should own it, as this replica sees it now. */
  #wanted: readonly (string | undefined)[] = [];
  #wantedOf = '';
  #cancelExpiry = () => {};
  readonly #stop = new AbortController();

  constructor(options: ShardingOptions) {
    const { clock, name, identity, shards, random, nonce = randomBytes(4).toString('hex') } = options;
    this.#options = options;
    this.#timing = timingOf(options.leaseDurationMs);
    this.#holder = holderName(identity, nonce);
    this.#peers = new Peers(clock, this.#timing.durationMs);
    this.#report = new ShardingReport(options);
    this.#changes = new OwnershipChanges(options.logger, shards);
    const common = { clock, timing: this.#timing, random };
    this.#registration = new Registration(
      {
        ...common,
        identity,
        shards,
        peers: this.#peers,
        weight: () => options.weight(),
        read: () => this.#read(),
        isGone: () => this.#shards.every(({ isGone }) => isGone),
        changed: () => this.#assign(),
        duplicated: (holder) => this.#report.duplicated(holder),
        failed: (error) => this.#report.failed('peer', error),
        renewed: () => this.#forget(this.#peers.deadFor(this.#timing.durationMs)),
      },
      (facts, changed) =>
        new LeaseLock({
          ...this.#lockOptions,
          name: peerLeaseName(name, identity),
          labels: labelsOf(name, 'peer'),
          annotations: () => peerAnnotations(facts()),
          changed,
        }),
    );
    const context: ShardContext = {
      ...common,
      mayOwn: () => this.#registration.isValid,
      wants: (shard) => this.#wants(shard),
      isIdle: (shard) => !this.#inUse.get(shard)?.size,
      changed: (shard) => this.#changed(shard),
      began: (shard) => this.#report.began(shard),
      ended: (shard, change) => this.#report.ended(shard, change),
      failed: (error) => this.#report.failed('shard', error),
    };
    this.#shards = Array.from(
      { length: shards },
      (_, index) =>
        new Shard(
          index,
          context,
          (changed) =>
            new LeaseLock({
              ...this.#lockOptions,
              name: shardLeaseName(name, index),
              labels: labelsOf(name, 'shard'),
              changed,
            }),
        ),
    );
  }

  /** How many shards are this replica's. */
  get owned(): number {
    return this.#shards.filter(({ isOwned }) => isOwned).length;
  }

  /** How many replicas live, this one included where it has joined. */
  get peers(): number {
    return this.#peers.size + (this.#registration.isValid ? 1 : 0);
  }

  get isSettled(): boolean {
    if (!this.#registration.isValid) return false;
    return this.#shards.every(
      (shard) => shard.isOwned || !this.#wants(shard.index) || (shard.lock.view.isKnown && !shard.lock.mayTake),
    );
  }

  ownerOf(key: string): Owner {
    const index = shardOf(key, this.#options.shards);
    const shard = this.#shards[index];
    if (!shard) throw new RangeError(`there is no shard ${index}`);
    return this.#ownerOf(shard);
  }

  enter(key: string): void {
    const index = shardOf(key, this.#options.shards);
    this.#inUse.set(index, (this.#inUse.get(index) ?? new Set()).add(key));
  }

  leave(key: string): void {
    const index = shardOf(key, this.#options.shards);
    const keys = this.#inUse.get(index);
    if (!keys?.delete(key) || keys.size > 0) return;
    this.#shards[index]?.look();
    this.#registration.look();
  }

  async run(listener: OwnershipListener, signal: AbortSignal): Promise<void> {
    this.#changes.listen(listener);
    this.#options.leases.watch(
      { applied: (lease) => this.#applied(lease), deleted: (lease) => this.#deleted(lease) },
      this.#stop.signal,
    );
    const leave = () => {
      this.#registration.leave();
      this.#assign();
    };
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    const loops = this.#shards.map((shard) => shard.run());
    try {
      await this.#registration.run();
    } finally {
      signal.removeEventListener('abort', leave);
      for (const shard of this.#shards) shard.stop();
      this.#cancelExpiry();
      this.#stop.abort();
      await Promise.all(loops);
    }
  }

  #ownerOf(shard: Shard): Owner {
    const { index, term } = shard;
    if (term) return { mine: true, term };
    const { view, identity: self } = shard.lock;
    if (view.holder !== undefined && view.holder !== self && view.isLive) {
      const owner = identityOf(view.holder);
      return { mine: false, reason: 'OWNED_BY_OTHER', message: `${owner} owns its shard ${index}`, owner };
    }
    // That others should have it, or this replica, is not known while it cannot renew its Leases.
    if (shard.isLost) return { mine: false, ...shardLost };
    const wanted = this.#wanted[index];
    if (shard.isOwned && wanted !== undefined) {
      return { mine: false, reason: 'HANDED_OVER', message: `shard ${index} is on its way to ${wanted}` };
    }
    return {
      mine: false,
      reason: 'NO_OWNER',
      message: `nobody owns its shard ${index} at the moment: ${this.#whyNobody(wanted)}`,
    };
  }

  #wants(shard: number): boolean | undefined {
    if (this.#registration.isLeaving) return false;
    return this.#registration.isValid ? this.#wanted[shard] === this.#options.identity : undefined;
  }

  #applied(lease: Lease): void {
    const { name } = this.#options;
    if (isPeer(lease)) {
      if (lease.metadata.name === this.#registration.lock.name) {
        this.#registration.lock.observe(lease);
        return;
      }
      // Only news: a replica that has not joined reads all Leases at each look, and its own reads must not start the next one.
      if (!this.#peers.applied(lease)) return;
      this.#registration.look();
      this.#assign();
    } else {
      this.#shards[shardOfLease(name, lease) ?? -1]?.lock.observe(lease);
    }
  }

  #deleted(lease: Lease): void {
    const { name } = this.#options;
    if (isPeer(lease)) {
      if (lease.metadata.name === this.#registration.lock.name) this.#registration.lock.observeDeleted(lease);
      else this.#peers.deleted(lease);
      this.#registration.look();
      this.#assign();
    } else {
      this.#shards[shardOfLease(name, lease) ?? -1]?.lock.observeDeleted(lease);
    }
  }

  async #read(): Promise<void> {
    for (const lease of await this.#ask('list', (signal) => this.#options.leases.list(signal))) this.#applied(lease);
  }

  #ask<T>(what: string, request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { requestTimeoutMs } = this.#timing;
    const message = `${what} of Leases: no answer for ${requestTimeoutMs / 1_000} s`;
    return within(this.#options.clock, requestTimeoutMs, message, request);
  }

  /** Computes who should own each shard. If that has changed, every shard looks again. */
  #assign(): void {
    const { clock, identity, shards } = this.#options;
    const { isValid, weight } = this.#registration;
    const own: readonly Candidate[] = isValid && weight > 0 ? [{ identity, weight }] : [];
    const candidates = [...this.#peers.candidates, ...own].toSorted((a, b) => (a.identity < b.identity ? -1 : 1));
    this.#cancelExpiry();
    const { nextExpiry } = this.#peers;
    if (Number.isFinite(nextExpiry) && !this.#stop.signal.aborted)
      this.#cancelExpiry = clock.after(nextExpiry - clock.uptime(), () => this.#expire());
    // An identity is any text.
    const of = JSON.stringify([isValid, this.#registration.isLeaving, candidates]);
    if (of === this.#wantedOf) return;
    this.#wantedOf = of;
    this.#wanted = assignShards(candidates, shards);
    for (const shard of this.#shards) shard.look();
  }

  #changed(shard: Shard): void {
    if (this.#registration?.isLeaving) this.#registration.look();
    this.#changes.report(shard.index, this.#ownerOf(shard));
  }

  /** A replica may be dead. The first of those that live deletes its Lease, so that nobody who starts later waits for it. */
  #expire(): void {
    this.#assign();
    // It may wait for this one before it joins.
    this.#registration.look();
    const { identity } = this.#options;
    if (!this.#registration.isValid || this.#peers.candidates.some((peer) => peer.identity < identity)) return;
    this.#forget(this.#peers.deadFor(0)).catch((error: unknown) => this.#report.failed('peer', error));
  }

  /** Not what has changed since: a replica may only have been slow. */
  async #forget(dead: readonly Lease[]): Promise<void> {
    for (const lease of dead) await this.#ask('deletion', (signal) => this.#options.leases.delete(lease, signal));
  }

  #whyNobody(wanted: string | undefined): string {
    const { isValid, isLeaving } = this.#registration;
    if (!isValid && !isLeaving) return 'this replica has not written its own Lease in time, or not yet';
    if (wanted === undefined) return 'no replica wants shards';
    return `${wanted === this.#options.identity ? 'this replica' : wanted} is about to take it`;
  }

  get #lockOptions() {
    const { leases, clock } = this.#options;
    const { durationMs, deadlineMs, requestTimeoutMs } = this.#timing;
    const lasts = (saidMs: number | undefined) => believedMs(saidMs, durationMs);
    return { leases, clock, identity: this.#holder, durationMs, lasts, deadlineMs, requestTimeoutMs };
  }
}
