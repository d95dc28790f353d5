/** Serves the queues of all clusters in turn, so that no cluster delays another. */

import { ClusterQueue, type Job, type Rank, ranks, turnsForInitial, type WorkQueueOptions } from './cluster-queue.ts';
import { Fifo } from './fifo.ts';

/**
 * One in this many slots is reserved for clusters that have none and whose last reconcile ended in time, so that clusters whose
 * reconciles hang cannot take all of them.
 */
const keptOf = 4;

export class WorkQueue<T> {
  readonly #options: WorkQueueOptions;
  readonly #rings = { change: new Fifo<ClusterQueue<T>>(), initial: new Fifo<ClusterQueue<T>>() };
  /** Queues whose turn has come while only reserved slots were free. */
  readonly #parked = { change: new Set<ClusterQueue<T>>(), initial: new Set<ClusterQueue<T>>() };
  readonly #queues = new Set<ClusterQueue<T>>();
  readonly #kept: number;
  #working = 0;
  #changesInARow = 0;
  #parkedHasTurn = true;
  #adds = 0;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#kept = Math.floor(options.places / keptOf);
  }

  /** Items that have been queued so far, for metrics. */
  get adds(): number {
    return this.#adds;
  }

  /** Items that wait for a slot. */
  get depth(): number {
    let depth = 0;
    for (const queue of this.#queues) depth += queue.depth;
    return depth;
  }

  /** Items that have a slot. */
  get working(): number {
    return this.#working;
  }

  /** Creates the queue of a cluster. */
  queueOf(name: string): ClusterQueue<T> {
    for (const queue of this.#queues) if (queue.closed) this.#forget(queue);
    const queue = new ClusterQueue<T>(name, this.#options, {
      added: () => {
        this.#adds += 1;
      },
      offer: (offered, rank) => {
        if (this.#parked[rank].has(offered)) return;
        this.#rings[rank].add(offered);
        this.#options.ready();
      },
      released: (freed) => {
        this.#working -= 1;
        this.#unpark(freed);
        this.#options.ready();
      },
      changed: (changed) => this.#unpark(changed),
    });
    this.#queues.add(queue);
    return queue;
  }

  /** Takes the next item, of the queue whose turn it is; `undefined` if there is none, or no slot for it. */
  take(): Job<T> | undefined {
    const initialsTurn = this.#changesInARow >= turnsForInitial - 1;
    for (const rank of initialsTurn ? ranks.toReversed() : ranks) {
      for (let queue = this.#next(rank); queue; queue = this.#next(rank)) {
        const job = queue.take(rank);
        if (!job) continue;
        this.#working += 1;
        this.#changesInARow = job.rank === 'change' ? this.#changesInARow + 1 : 0;
        return job;
      }
    }
    return undefined;
  }

  /** The next queue that may use a free slot. */
  #next(rank: Rank): ClusterQueue<T> | undefined {
    const free = this.#options.places - this.#working;
    if (free <= 0) return undefined;
    const [ring, parked] = [this.#rings[rank], this.#parked[rank]];
    if (free > this.#kept) {
      // Alternates, so that neither parked queues nor new ones starve.
      this.#parkedHasTurn = !this.#parkedHasTurn;
      const [first] = this.#parkedHasTurn || ring.size === 0 ? parked : [];
      if (!first) return ring.shift();
      parked.delete(first);
      return first;
    }
    for (let queue = ring.shift(); queue; queue = ring.shift()) {
      if (queue.isFree) return queue;
      parked.add(queue);
    }
    return undefined;
  }

  /** A parked queue may use a reserved slot now. */
  #unpark(queue: ClusterQueue<T>): void {
    if (!queue.isFree) return;
    for (const rank of ranks) {
      if (!this.#parked[rank].delete(queue)) continue;
      this.#rings[rank].add(queue);
      this.#options.ready();
    }
  }

  #forget(queue: ClusterQueue<T>): void {
    this.#queues.delete(queue);
    for (const rank of ranks) this.#parked[rank].delete(queue);
  }
}
