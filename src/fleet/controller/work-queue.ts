/** Turns that go round the clusters, so that none makes another wait. Knows nothing of what work is. */
import { Fifo } from './fifo.ts';
import { type Job, Lane, type Rank, ranks, turnsForInitial, type WorkQueueOptions } from './lane.ts';

/**
 * One of so many places is kept for lanes that have none, and that have ended their last work in time: lanes whose work hangs
 * leave it to the others.
 */
const keptOf = 4;

export class WorkQueue<T> {
  readonly #options: WorkQueueOptions;
  readonly #rings = { change: new Fifo<Lane<T>>(), initial: new Fifo<Lane<T>>() };
  /** Lanes whose turn has come while there were none but kept places. */
  readonly #parked = { change: new Set<Lane<T>>(), initial: new Set<Lane<T>>() };
  readonly #lanes = new Set<Lane<T>>();
  readonly #kept: number;
  #working = 0;
  #changesInARow = 0;
  #parkedHasTurn = true;
  #adds = 0;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#kept = Math.floor(options.places / keptOf);
  }

  /** How many items have been queued so far. */
  get adds(): number {
    return this.#adds;
  }

  /** Items that could be worked on now. */
  get depth(): number {
    let depth = 0;
    for (const lane of this.#lanes) depth += lane.depth;
    return depth;
  }

  /** Items that are worked on. */
  get working(): number {
    return this.#working;
  }

  /** A lane of its own for a cluster. */
  lane(name: string): Lane<T> {
    for (const lane of this.#lanes) if (lane.closed) this.#forget(lane);
    const lane = new Lane<T>(name, this.#options, {
      added: () => {
        this.#adds += 1;
      },
      offer: (offered, rank) => {
        this.#rings[rank].push(offered);
        this.#options.ready();
      },
      taken: () => {
        this.#working += 1;
      },
      released: (freed) => {
        this.#working -= 1;
        this.#unpark(freed);
        this.#options.ready();
      },
      changed: (changed) => this.#unpark(changed),
    });
    this.#lanes.add(lane);
    return lane;
  }

  /** The next item, of the lane whose turn it is; `undefined` where there is none, or no place for it. */
  take(): Job<T> | undefined {
    const initialsTurn = this.#changesInARow >= turnsForInitial - 1;
    for (const rank of initialsTurn ? ranks.toReversed() : ranks) {
      for (let lane = this.#next(rank); lane; lane = this.#next(rank)) {
        const job = lane.take(rank);
        if (!job) continue;
        this.#changesInARow = job.rank === 'change' ? this.#changesInARow + 1 : 0;
        return job;
      }
    }
    return undefined;
  }

  /** The next lane that may have one of the places that are free. */
  #next(rank: Rank): Lane<T> | undefined {
    const free = this.#options.places - this.#working;
    if (free <= 0) return undefined;
    const [ring, parked] = [this.#rings[rank], this.#parked[rank]];
    if (free > this.#kept) {
      // By turns: neither those that have waited for such a place nor those that come may starve.
      this.#parkedHasTurn = !this.#parkedHasTurn;
      const [first] = this.#parkedHasTurn || ring.size === 0 ? parked : [];
      if (!first) return ring.shift();
      parked.delete(first);
      return first;
    }
    for (let lane = ring.shift(); lane; lane = ring.shift()) {
      if (lane.isFree) return lane;
      parked.add(lane);
    }
    return undefined;
  }

  /** A lane that was parked may have a kept place now. */
  #unpark(lane: Lane<T>): void {
    if (!lane.isFree) return;
    for (const rank of ranks) {
      if (!this.#parked[rank].delete(lane)) continue;
      this.#rings[rank].push(lane);
      this.#options.ready();
    }
  }

  #forget(lane: Lane<T>): void {
    this.#lanes.delete(lane);
    for (const rank of ranks) this.#parked[rank].delete(lane);
  }
}
