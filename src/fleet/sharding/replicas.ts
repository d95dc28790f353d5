/** The replicas of a fleet, by their Leases: which of them live, and which of their sessions may be valid. */
import type { Clock } from '../clock.ts';
import type { Lease } from '../lease/lease.ts';
import { LeaseView } from '../lease/lease-view.ts';
import { identityOf, type ReplicaFacts, replicaFacts, replicaLeaseName } from './names.ts';

export interface ReplicasOptions {
  readonly clock: Clock;
  /** Of the fleet. */
  readonly name: string;
  readonly durationMs: number;
  /** The name of this replica's own Lease. */
  readonly own: string;
}

export class Replicas {
  readonly #options: ReplicasOptions;
  /** By the name of the Lease. */
  readonly #views = new Map<string, LeaseView>();

  constructor(options: ReplicasOptions) {
    this.#options = options;
  }

  /** Returns whether that is news. */
  applied(lease: Lease): boolean {
    return this.viewOf(lease.metadata.name).observe(lease);
  }

  deleted(last: Lease): void {
    this.viewOf(last.metadata.name).observeDeleted(last);
  }

  viewOf(leaseName: string): LeaseView {
    const { clock, durationMs } = this.#options;
    const view = this.#views.get(leaseName) ?? new LeaseView(clock, durationMs);
    this.#views.set(leaseName, view);
    return view;
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

  /** The other replicas that live, and want shards: their identities. */
  get candidates(): readonly string[] {
    return this.#others.flatMap(({ facts }) => (facts.weight > 0 ? [facts.identity] : []));
  }

  /** How many others live. */
  get size(): number {
    return this.#others.length;
  }

  /** The clock's uptime in which the next one expires, unless it is renewed. */
  get nextExpiry(): number {
    return Math.min(...this.#others.map(({ view }) => view.expiresAt));
  }

  /** A replica has renewed its Lease: the fleet did not start just now. */
  get anyRenewed(): boolean {
    return this.#others.some(({ view }) => view.lease?.spec?.acquireTime !== view.lease?.spec?.renewTime);
  }

  /** Leases that no process renews any more. */
  get dead(): readonly Lease[] {
    return [...this.#views.values()].flatMap(({ lease, isLive }) => (lease && !isLive ? [lease] : []));
  }

  /** All get their whole time again: this process could not see them for a while. */
  startAgain(): void {
    for (const view of this.#views.values()) view.startAgain();
  }

  get #others(): readonly { readonly view: LeaseView; readonly facts: ReplicaFacts }[] {
    return [...this.#views].flatMap(([name, view]) => {
      const facts = view.lease && view.isLive && name !== this.#options.own ? replicaFacts(view.lease) : undefined;
      return facts ? [{ view, facts }] : [];
    });
  }
}
