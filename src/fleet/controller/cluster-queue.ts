/** The work queue of one cluster, with the rules of client-go: an item is queued once, and again after its work if it was added meanwhile. */
import { type BackoffLimits, backoffMs } from '../../util/backoff.ts';
import type { Clock } from '../clock.ts';
import type { ReconcileTrigger } from '../telemetry.ts';

/** Changes go before the objects of an informer's initial list. */
export type Rank = 'change' | 'initial';

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** Between retries of a failed item. */
  readonly backoff: BackoffLimits;
  /** Slots of one cluster. */
  readonly perCluster: number;
  /** Slots of all clusters together. */
  readonly slots: number;
  /** Called when an item can be taken. */
  ready(): void;
}

/** The outcome of the work on an item. */
export type Outcome =
  | { readonly failed: true; readonly atLeastMs?: number | undefined }
  | { readonly requeueAfterMs?: number | undefined };

/** Every tenth turn serves initial items, so that endless changes do not starve them: in each queue, and among all of them. */
export const turnsForInitial = 10;

/** Of an item that is added again and again, the first ones are kept. */
const maxTriggers = 10;
const requeue: ReconcileTrigger = { reason: 'requeue' };
const retry: ReconcileTrigger = { reason: 'retry' };

interface Entry<T> {
  readonly key: string;
  readonly value: T;
  /** Why it was added since it was worked on. */
  triggers: ReconcileTrigger[];
  state: 'queued' | 'waiting' | 'working';
  rank: Rank;
  failures: number;
  /** When it was queued. */
  since: number;
  /** While it waits after a failure: cancels that. */
  cancel?: (() => void) | undefined;
  /** Its `requeueAfterMs`. */
  due?: { readonly at: number; readonly cancel: () => void } | undefined;
  /** Set if it was added while it was worked on. */
  again?: Rank | undefined;
}

/** An item with a slot. Call `done` when the work has ended. */
export interface Job<T> {
  readonly queue: ClusterQueue<T>;
  readonly value: T;
  readonly rank: Rank;
  /** Why it was queued: some of the reasons, if they are many. */
  readonly triggers: readonly ReconcileTrigger[];
  /** Failures in a row. */
  readonly failures: number;
  /** Milliseconds that it was queued. */
  readonly waitedMs: number;
  done(outcome: Outcome): void;
  /** Returns the slot while the work continues. The item stays locked until `done`. */
  release(): void;
}

/** The items of one cluster. Work on one key never overlaps. */
export class ClusterQueue<T> {
  readonly name: string;
  readonly #options: WorkQueueOptions;
  readonly #ring: Ring<T>;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #queued = { change: new Set<Entry<T>>(), initial: new Set<Entry<T>>() };
  /** Kept: a new one would step over the places of deleted entries again. Asked only if there is an entry: one at its end stays there. */
  readonly #next = { change: this.#queued.change.values(), initial: this.#queued.initial.values() };
  #working = 0;
  #changesInARow = 0;
  #paused = true;
  #closed = false;
  #isSlow = false;

  /** @internal Made by `WorkQueue.queueOf`. Paused until `resume`. */
  constructor(name: string, options: WorkQueueOptions, ring: Ring<T>) {
    this.name = name;
    this.#options = options;
    this.#ring = ring;
  }

  /** Items that could be worked on now. */
  get depth(): number {
    return this.#queued.change.size + this.#queued.initial.size;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** @internal It may use a reserved slot. */
  get isFree(): boolean {
    return this.#working === 0 && !this.#isSlow;
  }

  /** Queues an item once, however often it is added. An item that is worked on is queued again afterwards. */
  add(key: string, value: T, rank: Rank, trigger: ReconcileTrigger): void {
    if (this.#closed) return;
    let entry = this.#entries.get(key);
    if (!entry) {
      entry = { key, value, triggers: [trigger], state: 'waiting', rank, failures: 0, since: 0 };
      this.#entries.set(key, entry);
    }
    // One change may lead to an item twice: by the object before it and after it.
    if (entry.triggers.length < maxTriggers && entry.triggers.at(-1) !== trigger) entry.triggers.push(trigger);
    if (entry.state === 'working') entry.again = entry.again === 'change' ? 'change' : rank;
    else if (entry.state === 'waiting') this.#enqueue(entry, rank);
    else if (rank === 'change' && entry.rank === 'initial') {
      this.#queued.initial.delete(entry);
      this.#enqueue(entry, rank);
    }
  }

  /** Lets items be taken. */
  resume(): void {
    this.#paused = false;
    this.#offer();
  }

  /** Limits the cluster to one slot while its reconciles time out. */
  slow(slow: boolean): void {
    if (this.#isSlow === slow) return;
    this.#isSlow = slow;
    this.#offer();
  }

  /** Drops every item. The outcome of running work is ignored. */
  close(): void {
    this.#closed = true;
    for (const entry of this.#entries.values()) {
      entry.cancel?.();
      entry.due?.cancel();
    }
    this.#entries.clear();
    for (const rank of ranks) this.#queued[rank].clear();
  }

  /** @internal Takes the next item of a rank. */
  take(turn: Rank): Job<T> | undefined {
    if (!this.#canTake(turn)) return undefined;
    const rank = this.#changesInARow >= turnsForInitial - 1 && this.#canTake('initial') ? 'initial' : turn;
    const { value: entry } = this.#next[rank].next();
    if (!entry) return undefined;
    this.#queued[rank].delete(entry);
    entry.state = 'working';
    entry.again = undefined;
    const { triggers } = entry;
    entry.triggers = [];
    this.#working += 1;
    this.#changesInARow = rank === 'change' ? this.#changesInARow + 1 : 0;
    this.#offer();
    let holdsPlace = true;
    const release = () => {
      if (!holdsPlace) return;
      holdsPlace = false;
      this.#working -= 1;
      this.#offer();
      this.#ring.released();
    };
    return {
      queue: this,
      value: entry.value,
      rank: entry.rank,
      triggers,
      failures: entry.failures,
      waitedMs: this.#options.clock.uptime() - entry.since,
      release,
      done: (outcome) => {
        this.#end(entry, outcome);
        release();
      },
    };
  }

  #end(entry: Entry<T>, outcome: Outcome): void {
    if (this.#closed) return;
    const { again } = entry;
    if ('failed' in outcome) {
      entry.failures += 1;
      if (again) this.#enqueue(entry, again);
      else this.#wait(entry, Math.max(outcome.atLeastMs ?? 0, backoffMs(entry.failures, this.#options.backoff)));
      return;
    }
    entry.failures = 0;
    if (outcome.requeueAfterMs !== undefined) this.#remember(entry, outcome.requeueAfterMs);
    if (again) this.#enqueue(entry, again);
    else if (entry.due) entry.state = 'waiting';
    else this.#entries.delete(entry.key);
  }

  /** Adds the item again after that time. Of two such times the first counts, as in client-go. */
  #remember(entry: Entry<T>, ms: number): void {
    const { clock } = this.#options;
    const at = clock.uptime() + ms;
    if (entry.due && entry.due.at <= at) return;
    entry.due?.cancel();
    const cancel = clock.after(ms, () => {
      entry.due = undefined;
      this.add(entry.key, entry.value, entry.rank, requeue);
    });
    entry.due = { at, cancel };
  }

  #wait(entry: Entry<T>, ms: number): void {
    entry.state = 'waiting';
    entry.cancel = this.#options.clock.after(ms, () => this.add(entry.key, entry.value, entry.rank, retry));
  }

  #enqueue(entry: Entry<T>, rank: Rank): void {
    entry.cancel?.();
    entry.cancel = undefined;
    if (entry.state !== 'queued') entry.since = this.#options.clock.uptime();
    entry.state = 'queued';
    entry.rank = rank;
    this.#queued[rank].add(entry);
    this.#ring.added();
    this.#offer();
  }

  #canTake(rank: Rank): boolean {
    const limit = this.#isSlow ? 1 : this.#options.perCluster;
    return !this.#closed && !this.#paused && this.#working < limit && this.#queued[rank].size > 0;
  }

  /** Joins each ring for which it has an item. */
  #offer(): void {
    for (const rank of ranks) if (this.#canTake(rank)) this.#ring.offer(this, rank);
  }
}

export const ranks: readonly Rank[] = ['change', 'initial'];

/** The events of a cluster's queue. */
interface Ring<T> {
  added(): void;
  released(): void;
  offer(queue: ClusterQueue<T>, rank: Rank): void;
}
