/** The replicas of a fleet, by their Leases: which of them live, and which of their sessions may be valid. */
import type { Clock } from '../clock.ts';
import type { Lease } from '../lease/lease.ts';
import { LeaseView } from '../lease/lease-view.ts';
import { identityOf, type ReplicaFacts, replicaFacts, replicaLeaseName } from './names.ts';

interface Replica {
  readonly view: LeaseView;
  /** Its Lease was seen to change: it lives, or did a moment ago. */
  wasRenewed: boolean;
}

export interface ReplicasOptions {
  readonly clock: Clock;
  /** Of the fleet. */
  readonly name: string;
  readonly durationMs: number;
  /** How many shards the fleet has, as this replica is configured. */
  readonly shards: number;
  /** The name of this replica's own Lease. */
  readonly own: string;
}

export class Replicas {
  readonly #options: ReplicasOptions;
  /** By the name of the Lease. */
  readonly #replicas = new Map<string, Replica>();

  constructor(options: ReplicasOptions) {
    this.#options = options;
  }

  /** Returns whether that is news. */
  applied(lease: Lease): boolean {
    const replica = this.#replicaOf(lease.metadata.name);
    const { wasSeen } = replica.view;
    if (!replica.view.observe(lease)) return false;
    replica.wasRenewed = wasSeen;
    return true;
  }

  deleted(last: Lease): void {
    this.#replicas.get(last.metadata.name)?.view.observeDeleted(last);
  }

  viewOf(leaseName: string): LeaseView {
    return this.#replicaOf(leaseName).view;
  }

  /** The Lease of the replica of a session. Where it was never seen, its whole duration counts from now. */
  viewOfSession(session: string): LeaseView {
    const view = this.viewOf(replicaLeaseName(this.#options.name, identityOf(session)));
    if (!view.isKnown) view.acceptAbsence();
    return view;
  }

  /** A session may be valid. Where this is `false` it may only have expired, and not have been fenced. */
  isLive(session: string): boolean {
    const view = this.viewOfSession(session);
    return view.isLive && (view.lease === undefined || view.holder === session);
  }

  /** A session may be valid, though there is no Lease of its replica. */
  isUnseen(session: string): boolean {
    return this.isLive(session) && this.viewOfSession(session).lease === undefined;
  }

  /** The other replicas that live, and want shards: their identities. */
  get candidates(): readonly string[] {
    const { shards } = this.#options;
    return this.#others.flatMap(({ facts }) => (facts.weight > 0 && facts.shards === shards ? [facts.identity] : []));
  }

  /** How many others live. */
  get size(): number {
    return this.#others.length;
  }

  /** The clock's uptime in which the next one expires, unless it is renewed. */
  get nextExpiry(): number {
    return Math.min(...this.#others.map(({ view }) => view.expiresAt));
  }

  /** A replica that lives, and is configured with another number of shards. */
  get differing(): (ReplicaFacts & { readonly wasRenewed: boolean }) | undefined {
    const others = this.#others.filter(({ facts }) => facts.shards !== this.#options.shards);
    const found = others.find(({ wasRenewed }) => wasRenewed) ?? others[0];
    return found && { ...found.facts, wasRenewed: found.wasRenewed };
  }

  /** A replica has renewed its Lease: the fleet did not start just now. */
  get anyRenewed(): boolean {
    return this.#others.some(({ view }) => view.lease?.spec?.acquireTime !== view.lease?.spec?.renewTime);
  }

  /** Leases that no process renews any more. */
  get dead(): readonly Lease[] {
    return [...this.#replicas.values()].flatMap(({ view }) => (view.lease && !view.isLive ? [view.lease] : []));
  }

  /** Replicas that lived at a moment get their whole time again: since then this process could not see them. */
  startAgain(lived: number): void {
    for (const replica of this.#replicas.values()) {
      if (replica.view.expiresAt <= lived) continue;
      replica.view.startAgain();
      replica.wasRenewed = false;
    }
  }

  get #others(): readonly (Replica & { readonly facts: ReplicaFacts })[] {
    return [...this.#replicas].flatMap(([name, { view, wasRenewed }]) => {
      const facts = view.lease && view.isLive && name !== this.#options.own ? replicaFacts(view.lease) : undefined;
      return facts ? [{ view, wasRenewed, facts }] : [];
    });
  }

  #replicaOf(leaseName: string): Replica {
    const known = this.#replicas.get(leaseName);
    if (known) return known;
    const replica = { view: new LeaseView(this.#options.clock, this.#options.durationMs), wasRenewed: false };
    this.#replicas.set(leaseName, replica);
    return replica;
  }
}
