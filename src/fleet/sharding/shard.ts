/**
 * One shard, as one replica has to do with it: takes its Lease, renews it, gives it away. One thing is done at a time, and what
 * should be is looked at again after each.
 */
import type { Clock } from '../clock.ts';
import type { LeaseLock, Taken } from '../lease/lease-lock.ts';
import type { Term } from '../membership/ownership.ts';
import { Wait } from '../wait.ts';
import { Attempts } from './attempts.ts';
import type { Timing } from './timing.ts';

/** What shards are told of their replica, and tell it. */
export interface ShardContext {
  readonly clock: Clock;
  readonly timing: Timing;
  readonly random: () => number;
  /** This replica may own shards at all, at this moment. */
  mayOwn(): boolean;
  /** Whether it should own this one, which it then may; `undefined` while it does not know. */
  wants(shard: number): boolean | undefined;
  /** Nothing of this replica works on it. */
  isIdle(shard: number): boolean;
  /** Who owns it may have changed. */
  changed(shard: Shard): void;
  /** It has become this replica's, which nobody knows yet. */
  began(shard: Shard): void;
  /** It was this replica's: given away on purpose, or lost. */
  ended(shard: Shard, how: 'handed_over' | 'lost'): void;
  failed(error: unknown): void;
}

/** The time in which a shard is this replica's. */
class ShardTerm implements Term {
  readonly #controller = new AbortController();
  readonly #holds: () => boolean;

  constructor(holds: () => boolean) {
    this.#holds = holds;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Looks at the clock and does not wait for a timer: a process that was stopped must not go on for a moment. */
  get isOver(): boolean {
    return this.#controller.signal.aborted || !this.#holds();
  }

  end(): void {
    this.#controller.abort();
  }
}

export class Shard {
  readonly index: number;
  readonly lock: LeaseLock;
  readonly #context: ShardContext;
  readonly #wait: Wait;
  readonly #attempts: Attempts;
  #term: ShardTerm | undefined;
  #cancelDeadline = () => {};
  /** When its last term ended, and with which taking of the Lease that was. */
  #ended: { readonly taking: Taken; readonly at: number } | undefined;
  #isAsking = false;
  #isStopped = false;

  constructor(index: number, context: ShardContext, lockFor: (changed: () => void) => LeaseLock) {
    this.index = index;
    this.#context = context;
    this.#wait = new Wait(context.clock);
    this.#attempts = new Attempts(context);
    this.lock = lockFor(() => this.look());
  }

  /** `undefined` where it is not this replica's, or will be given away. */
  get term(): Term | undefined {
    return this.#term && !this.#term.isOver && this.#context.wants(this.index) ? this.#term : undefined;
  }

  /** It is this replica's, perhaps on its way to another one. */
  get isOwned(): boolean {
    return this.#term !== undefined;
  }

  /** It was this replica's until now. `look` ends its term. */
  get isLost(): boolean {
    return this.#term?.isOver === true;
  }

  /** Whom it was taken from. This process itself, where a term ended and nobody else has taken the Lease since. */
  get takenFrom(): Taken {
    const { takenFrom, identity } = this.lock;
    return this.#ended?.taking === takenFrom ? { holder: identity, seenAt: this.#ended.at } : takenFrom;
  }

  /** Nothing is left to give away. */
  get isGone(): boolean {
    const { lock } = this;
    return !this.#isAsking && !lock.isHeld && lock.holder !== lock.identity && this.#context.isIdle(this.index);
  }

  /** Something that it looks at may have changed. A term that is over ends before this returns. */
  readonly look = (): void => {
    if (this.#term?.isOver) this.#end('lost');
    this.#context.changed(this);
    this.#wait.poke();
  };

  /** Goes on until `stop`. */
  async run(): Promise<void> {
    while (!this.#isStopped) {
      this.#begin();
      const next = this.#next();
      if (typeof next === 'number') await this.#wait.for(next);
      else await this.#ask(next);
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#end('lost');
    this.#cancelDeadline();
    this.#wait.poke();
  }

  /** What is to be done now, or the milliseconds until there may be something. */
  #next(): 'hold' | 'release' | number {
    const { clock, wants, isIdle } = this.#context;
    const { lock } = this;
    const wanted = wants(this.index);
    const untilTry = this.#attempts.at - clock.uptime();
    if (!wanted && lock.isHeld && isIdle(this.index)) return 'release';
    // The server may not know yet that it was given away. While `wanted` is not known, this replica may still want it again.
    if (wanted === false && lock.holder === lock.identity && isIdle(this.index))
      return untilTry <= 0 ? 'release' : untilTry;
    if (!lock.isHeld && !wanted) return Number.POSITIVE_INFINITY;
    if (!lock.isHeld && !lock.mayTake) return lock.view.expiresAt - clock.uptime();
    return untilTry <= 0 ? 'hold' : untilTry;
  }

  async #ask(what: 'hold' | 'release'): Promise<void> {
    this.#isAsking = true;
    try {
      if (what === 'hold') await this.#hold();
      else await this.#release();
    } catch (error) {
      this.#attempts.failed();
      this.#context.failed(error);
    } finally {
      this.#isAsking = false;
    }
    // Somebody may wait until it asks no more.
    this.#context.changed(this);
  }

  async #hold(): Promise<void> {
    const { clock } = this.#context;
    const { heldUntil } = this.lock;
    const held = await this.lock.hold();
    // Somebody else may have had it in the meantime.
    if (clock.uptime() >= heldUntil) this.#end('lost');
    if (held) this.#attempts.renewed();
    else this.#attempts.failed();
    if (!held || this.#isStopped) return;
    this.#cancelDeadline();
    this.#cancelDeadline = clock.after(this.lock.heldUntil - clock.uptime(), this.look);
  }

  async #release(): Promise<void> {
    if (this.#term) this.#end('handed_over');
    this.#cancelDeadline();
    await this.lock.release();
    this.#attempts.reset();
  }

  #begin(): void {
    const { wants, mayOwn } = this.#context;
    if (this.#term || !this.lock.isHeld || !wants(this.index)) return;
    // Work may end late, and replicas with another number of shards may begin when this replica's own Lease has expired.
    this.#term = new ShardTerm(() => this.lock.isHeld && mayOwn());
    this.#context.began(this);
    this.#context.changed(this);
  }

  #end(how: 'handed_over' | 'lost'): void {
    const term = this.#term;
    if (!term) return;
    this.#term = undefined;
    this.#ended = { taking: this.lock.takenFrom, at: this.#context.clock.uptime() };
    term.end();
    this.#context.ended(this, how);
    this.#context.changed(this);
  }
}
