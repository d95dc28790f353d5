/** What has to be worked on for one cluster, in client-go's way: an item once, and again afterwards where it came back. */
import { type BackoffLimits, backoffMs } from '../../backoff.ts';
import type { Clock } from '../clock.ts';
import { Fifo } from './fifo.ts';

/** Changes go before what an informer's first list has brought. */
export type Rank = 'change' | 'initial';

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** After failures of one item. */
  readonly backoff: BackoffLimits;
  /** How many items of one lane are worked on at once. */
  readonly perLane: number;
  /** How many items are worked on at once. */
  readonly places: number;
  /** Something can be taken. */
  ready(): void;
}

/** How work on an item has ended. */
export type Outcome = { readonly failed: true; readonly atLeastMs?: number } | { readonly requeueAfterMs?: number };

/** One of so many turns is for initial lists, also where changes never end. It holds for the whole queue, and in each lane. */
export const turnsForInitial = 10;

interface Entry<T> {
  readonly key: string;
  readonly value: T;
  state: 'queued' | 'waiting' | 'working';
  rank: Rank;
  failures: number;
  /** When it was queued. */
  since: number;
  /** While it waits after a failure: cancels that. */
  cancel: () => void;
  /** When it is wanted again, whatever happens until then. */
  due: { readonly at: number; readonly cancel: () => void } | undefined;
  /** While it is worked on: it has come again meanwhile. */
  again: Rank | undefined;
}

/** An item that is worked on. `done` has to be called when the work has ended. */
export interface Job<T> {
  readonly lane: Lane<T>;
  readonly value: T;
  readonly rank: Rank;
  /** How often work on it has failed in a row. */
  readonly failures: number;
  /** Milliseconds that it was queued. */
  readonly waitedMs: number;
  done(outcome: Outcome): void;
  /** The work goes on, but takes no place any more. The item is still not worked on by anybody else. */
  release(): void;
}

/** The items of one cluster. Each key is worked on by one at a time. */
export class Lane<T> {
  readonly name: string;
  readonly #options: WorkQueueOptions;
  readonly #queue: Ring<T>;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #queued = { change: new Fifo<Entry<T>>(), initial: new Fifo<Entry<T>>() };
  readonly #counts = { change: 0, initial: 0 };
  readonly #inRing = { change: false, initial: false };
  #working = 0;
  #changesInARow = 0;
  #paused = true;
  #closed = false;
  #limit: number;
  #isSlow = false;

  /** @internal Made by `WorkQueue.lane`. Paused until `resume`. */
  constructor(name: string, options: WorkQueueOptions, queue: Ring<T>) {
    this.name = name;
    this.#options = options;
    this.#queue = queue;
    this.#limit = options.perLane;
  }

  /** Items that could be worked on now. */
  get depth(): number {
    return this.#counts.change + this.#counts.initial;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** @internal It may have one of the places that are kept. */
  get isFree(): boolean {
    return this.#working === 0 && !this.#isSlow;
  }

  /** An item is queued once, however often it is added; what is worked on is worked on again afterwards. */
  add(key: string, value: T, rank: Rank): void {
    if (this.#closed) return;
    const entry = this.#entries.get(key);
    if (!entry) {
      const fresh: Entry<T> = {
        key,
        value,
        state: 'waiting',
        rank,
        failures: 0,
        since: 0,
        cancel: () => {},
        due: undefined,
        again: undefined,
      };
      this.#entries.set(key, fresh);
      this.#enqueue(fresh, rank);
    } else if (entry.state === 'working') {
      entry.again = entry.again === 'change' ? 'change' : rank;
    } else if (entry.state === 'waiting') {
      this.#enqueue(entry, rank);
    } else if (rank === 'change' && entry.rank === 'initial') {
      this.#counts.initial -= 1;
      this.#enqueue(entry, rank);
    }
  }

  /** Items may be taken from now on. */
  resume(): void {
    this.#paused = false;
    this.#offer();
  }

  /** From now on one item at a time, because the cluster does not answer in time. `false`: as many as before. */
  slow(slow: boolean): void {
    if (this.#isSlow === slow) return;
    this.#isSlow = slow;
    this.#limit = slow ? 1 : this.#options.perLane;
    this.#offer();
    this.#queue.changed(this);
  }

  /** Forgets every item. What is worked on goes on, and is of no consequence. */
  close(): void {
    this.#closed = true;
    for (const entry of this.#entries.values()) {
      entry.cancel();
      entry.due?.cancel();
    }
    this.#entries.clear();
    this.#counts.change = 0;
    this.#counts.initial = 0;
  }

  /** @internal Its next item of a rank, for the ring. */
  take(turn: Rank): Job<T> | undefined {
    this.#inRing[turn] = false;
    if (!this.#canTake(turn)) return undefined;
    const rank = this.#changesInARow >= turnsForInitial - 1 && this.#canTake('initial') ? 'initial' : turn;
    for (;;) {
      const entry = this.#queued[rank].shift();
      if (!entry) return undefined;
      // An entry that was raised to another rank has left an empty place.
      if (entry.state !== 'queued' || entry.rank !== rank || this.#entries.get(entry.key) !== entry) continue;
      entry.state = 'working';
      entry.again = undefined;
      this.#counts[rank] -= 1;
      this.#working += 1;
      this.#queue.taken();
      this.#changesInARow = rank === 'change' ? this.#changesInARow + 1 : 0;
      this.#offer();
      return this.#job(entry);
    }
  }

  #job(entry: Entry<T>): Job<T> {
    let holdsPlace = true;
    let ended = false;
    const release = () => {
      if (!holdsPlace) return;
      holdsPlace = false;
      this.#working -= 1;
      this.#offer();
      this.#queue.released(this);
    };
    return {
      lane: this,
      value: entry.value,
      rank: entry.rank,
      failures: entry.failures,
      waitedMs: this.#options.clock.uptime() - entry.since,
      release,
      done: (outcome) => {
        if (ended) return;
        ended = true;
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

  /** It is added again in time, as by a change. Where two times are wanted the first counts, as with client-go. */
  #remember(entry: Entry<T>, ms: number): void {
    const { clock } = this.#options;
    const at = clock.uptime() + ms;
    if (entry.due && entry.due.at <= at) return;
    entry.due?.cancel();
    const cancel = clock.after(ms, () => {
      entry.due = undefined;
      this.add(entry.key, entry.value, entry.rank);
    });
    entry.due = { at, cancel };
  }

  #wait(entry: Entry<T>, ms: number): void {
    entry.state = 'waiting';
    entry.cancel = this.#options.clock.after(ms, () => this.#enqueue(entry, entry.rank));
  }

  #enqueue(entry: Entry<T>, rank: Rank): void {
    entry.cancel();
    entry.cancel = () => {};
    if (entry.state !== 'queued') entry.since = this.#options.clock.uptime();
    entry.state = 'queued';
    entry.rank = rank;
    this.#counts[rank] += 1;
    this.#queued[rank].push(entry);
    this.#queue.added(this);
    this.#offer();
  }

  #canTake(rank: Rank): boolean {
    return !this.#closed && !this.#paused && this.#working < this.#limit && this.#counts[rank] > 0;
  }

  /** Takes its place at the end of each ring in which it has something to give. */
  #offer(): void {
    for (const rank of ranks) {
      if (this.#inRing[rank] || !this.#canTake(rank)) continue;
      this.#inRing[rank] = true;
      this.#queue.offer(this, rank);
    }
  }
}

export const ranks: readonly Rank[] = ['change', 'initial'];

/** What a lane tells its queue. */
export interface Ring<T> {
  added(lane: Lane<T>): void;
  taken(): void;
  released(lane: Lane<T>): void;
  /** It may have another kind of place than before. */
  changed(lane: Lane<T>): void;
  offer(lane: Lane<T>, rank: Rank): void;
}
