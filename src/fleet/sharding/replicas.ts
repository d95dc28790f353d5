/** The replicas of a fleet, by their Leases: which of them live, which of their sessions may be valid, and how those of dead ones are ended. */
import { holderOf, type Lease, LeaseView } from '../lease.ts';
import { identityOf, type ReplicaFacts, replicaFacts, replicaLeaseName, type ShardingContext } from './names.ts';

export class Replicas {
  readonly #context: ShardingContext;
  /** This replica's own Lease. */
  readonly own: LeaseView;
  /** By the name of the Lease. */
  readonly #views = new Map<string, LeaseView>();
  /** By session: all of its shards wait for the same request. */
  readonly #ending = new Map<string, Promise<boolean>>();

  constructor(context: ShardingContext) {
    this.#context = context;
    this.own = this.viewOf(replicaLeaseName(context.name, context.identity));
  }

  viewOf(leaseName: string): LeaseView {
    const { clock, timing } = this.#context;
    const view = this.#views.get(leaseName) ?? new LeaseView(leaseName, timing.durationMs, clock);
    this.#views.set(leaseName, view);
    return view;
  }

  /** The Lease of the replica of a session. If it was never seen, its whole duration counts from now. */
  viewOfSession(session: string): LeaseView {
    const view = this.viewOf(replicaLeaseName(this.#context.name, identityOf(session)));
    if (!view.observation) view.acceptAbsence();
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

  /** Leases that no process renews. */
  get dead(): readonly Lease[] {
    return [...this.#views.values()].flatMap(({ lease, isLive }) => (lease && !isLive ? [lease] : []));
  }

  /** All get their whole time again: this process could not see them for a while. */
  startAgain(): void {
    for (const view of this.#views.values()) view.startAgain();
  }

  /** Makes sure that a session is over, and can never be valid again. Resolves with `false` if it lives. */
  endSession(session: string): Promise<boolean> {
    const underWay = this.#ending.get(session);
    if (underWay) return underWay;
    const ending = this.#end(session).finally(() => this.#ending.delete(session));
    this.#ending.set(session, ending);
    return ending;
  }

  /**
   * Its replica's Lease has not changed for its duration, and is written with this version as the condition: from then on the
   * replica cannot renew it any more. Nothing is written if it names another session.
   */
  async #end(session: string): Promise<boolean> {
    const { leases } = this.#context;
    const view = this.viewOfSession(session);
    const lease = await leases.look(view);
    if (lease && holderOf(lease) !== session) return true;
    if (view.isLive) return false;
    if (!lease) return true;
    return leases.release(view, lease);
  }

  get #others(): readonly { readonly view: LeaseView; readonly facts: ReplicaFacts }[] {
    return [...this.#views.values()].flatMap((view) => {
      const facts = view.lease && view.isLive && view !== this.own ? replicaFacts(view.lease) : undefined;
      return facts ? [{ view, facts }] : [];
    });
  }
}
