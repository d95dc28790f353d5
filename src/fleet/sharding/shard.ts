/**
 * One shard, as one replica sees it. Its Lease names the session that owns it, and is written only when that changes. One
 * request is under way at a time, and the desired state is evaluated again after each.
 */
import { LeaseView } from '../lease.ts';
import type { Fence } from '../membership/ownership.ts';
import { labelsOf, millisecondsTo, type ShardingContext, shardLeaseName, spread } from './names.ts';
import type { ReplicaLease } from './replica-lease.ts';
import type { Replicas } from './replicas.ts';
import type { ShardingReport, Taken } from './report.ts';

/** What shards ask of their replica, and report to it. */
export interface ShardContext extends ShardingContext {
  /** This replica: its session owns shards while it is valid. */
  readonly own: ReplicaLease;
  readonly replicas: Replicas;
  readonly report: ShardingReport;
  /** Whether it should own this one, which it then may; `undefined` while it does not know. */
  wants(shard: number): boolean | undefined;
  /** The owner may be another one. */
  changed(shard: Shard): void;
}

/** The time in which a shard is this replica's. */
class ShardTerm implements Fence {
  readonly #controller = new AbortController();
  readonly signal = this.#controller.signal;
  readonly #holds: () => boolean;
  #isOver = false;

  constructor(holds: () => boolean) {
    this.#holds = holds;
  }

  /**
   * Looks at the clock and does not wait for a timer: a process that was stopped must not go on for a moment. Once over, it stays so:
   * who has seen that waits for the next one.
   */
  get isOver(): boolean {
    this.#isOver ||= !this.#holds();
    return this.#isOver;
  }

  end(): void {
    this.#isOver = true;
    this.#controller.abort();
  }
}

export class Shard {
  readonly index: number;
  readonly view: LeaseView;
  /** What this replica does with its clusters, and with objects of the hub. */
  readonly works = new Set<object>();
  readonly #context: ShardContext;
  readonly #marks: { readonly labels: Readonly<Record<string, string>> };
  #term: ShardTerm | undefined;
  /** The session with which this replica took it, until it is released. */
  #taken: string | undefined;
  #from: Taken = {};
  #isAsking = false;
  #isStopped = false;
  #retryAt = Number.NEGATIVE_INFINITY;
  #cancelTimer = () => {};

  constructor(index: number, context: ShardContext) {
    this.index = index;
    const { name, timing, clock } = context;
    this.view = new LeaseView(shardLeaseName(name, index), timing.durationMs, clock);
    this.#marks = { labels: labelsOf(name, 'shard') };
    this.#context = context;
  }

  /** `undefined` if it is not this replica's, or will be released. */
  get term(): Fence | undefined {
    return this.#term && !this.#term.isOver && this.#context.wants(this.index) ? this.#term : undefined;
  }

  /** It is this replica's, perhaps on its way to another one. */
  get isOwned(): boolean {
    return this.#term !== undefined;
  }

  /** It was this replica's until now. `reconcile` ends its term. */
  get isLost(): boolean {
    return this.#term?.isOver === true;
  }

  /** The session that its Lease names; `undefined` if it is free, or gone. */
  get #holder(): string | undefined {
    return this.view.lease && this.view.holder;
  }

  /** Its Lease names this session, which wrote it. If the session is valid, the shard is this replica's. */
  get #isTaken(): boolean {
    return this.#taken === this.#context.own.session && this.#holder === this.#taken;
  }

  /** The session that may own it at this moment, this replica's included. */
  get liveHolder(): string | undefined {
    const holder = this.#holder;
    return holder !== undefined && this.#context.replicas.isLive(holder) ? holder : undefined;
  }

  /** Nothing is left to release. */
  get isGone(): boolean {
    return !this.#isAsking && this.#holder !== this.#context.own.session;
  }

  /** Compares the Lease with the desired state, and begins to take or release the shard. A term that is over ends before this returns. */
  readonly reconcile = (): void => {
    if (this.#term?.isOver) this.#end('lost');
    this.#begin();
    this.#context.changed(this);
    this.#act();
  };

  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer();
    this.#end('lost');
  }

  #begin(): void {
    const { wants, own, report } = this.#context;
    if (this.#term || this.#isStopped || !this.#isTaken || !wants(this.index)) return;
    this.#term = new ShardTerm(() => own.isValid && this.#isTaken);
    report.began(this.index, this.#from);
  }

  #end(how: 'handed_over' | 'lost'): void {
    const term = this.#term;
    if (!term) return;
    this.#term = undefined;
    this.#from = { seenAt: this.#context.clock.uptime() };
    term.end();
    this.#context.report.ended(this.index, this.liveHolder, how);
    this.#context.changed(this);
  }

  /** What is to be done now, if anything. */
  #next(): 'release' | 'take' | 'nothing' {
    const { wants, own, replicas } = this.#context;
    const { lease, isLive: mayBeHeld } = this.view;
    const holder = this.#holder;
    const wanted = wants(this.index);
    if (wanted === undefined) return 'nothing';
    if (!wanted) return holder === own.session && this.works.size === 0 ? 'release' : 'nothing';
    if (this.#isTaken) return 'nothing';
    const isFree = lease ? holder === undefined || holder === own.session || !replicas.isLive(holder) : !mayBeHeld;
    return isFree ? 'take' : 'nothing';
  }

  #act(): void {
    if (this.#isAsking || this.#isStopped) return;
    const next = this.#next();
    this.#cancelTimer();
    if (next === 'nothing') {
      // Its Lease is gone, and others may own it for a while.
      if (!this.view.lease && this.view.isLive) this.#wakeAt(this.view.expiresAt);
      return;
    }
    if (this.#retryAt > this.#context.clock.uptime()) this.#wakeAt(this.#retryAt);
    else void this.#ask(next);
  }

  #wakeAt(time: number): void {
    const { clock } = this.#context;
    this.#cancelTimer = clock.after(millisecondsTo(time, clock), this.reconcile);
  }

  async #ask(what: 'release' | 'take'): Promise<void> {
    const { clock, timing, random, report } = this.#context;
    this.#isAsking = true;
    let isDone = false;
    try {
      isDone = await (what === 'take' ? this.#take() : this.#release());
      report.succeeded('shard');
    } catch (error) {
      report.failed('shard', error);
    }
    this.#retryAt = isDone ? Number.NEGATIVE_INFINITY : clock.uptime() + spread(timing.shardRetryMs, random);
    this.#isAsking = false;
    this.reconcile();
  }

  async #take(): Promise<boolean> {
    const { leases, own, replicas } = this.#context;
    const { lease, seenAt: releasedAt } = this.view;
    const holder = this.#holder;
    // The one that is valid now: while others are fenced it may end, and what is written then gives the shard to nobody.
    const { session } = own;
    const from = {
      session: holder,
      seenAt: holder === undefined ? releasedAt : replicas.viewOfSession(holder).seenAt,
    };
    if (holder !== undefined && holder !== session && !(await replicas.endSession(holder))) return false;
    if (await leases.hold(this.view, lease, session, this.#marks)) {
      this.#taken = session;
      if (holder !== session) this.#from = from;
    } else {
      await leases.look(this.view);
    }
    return true;
  }

  async #release(): Promise<boolean> {
    if (this.#term) this.#end('handed_over');
    // Also if no answer comes: others may own it from now on, until it is taken again.
    this.#taken = undefined;
    const { leases } = this.#context;
    const { lease } = this.view;
    if (lease && (await leases.release(this.view, lease, this.#marks))) return true;
    await leases.look(this.view);
    return false;
  }
}
