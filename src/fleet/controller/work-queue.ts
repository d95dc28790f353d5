/** Serves the queues of all clusters in turn, so that no cluster delays another. */
import { ClusterQueue, type Job, type Rank, ranks, turnsForInitial, type WorkQueueOptions } from './cluster-queue.ts';

/** One in this many slots is reserved for clusters that have none, and whose last reconcile ended in time: see `concurrency`. */
const keptOf = 4;

export class WorkQueue<T> {
  readonly #options: WorkQueueOptions;
  /** The queues that have items, in the order of their turns. */
  readonly #rings = { change: new Set<ClusterQueue<T>>(), initial: new Set<ClusterQueue<T>>() };
  readonly #queues = new Set<ClusterQueue<T>>();
  readonly #kept: number;
  #working = 0;
  #changesInARow = 0;
  #adds = 0;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#kept = Math.floor(options.slots / keptOf);
  }

  /** Items that wait for a slot, that have been queued so far, and that have a slot. */
  get stats() {
    const depth = [...this.#queues].reduce((sum, queue) => sum + queue.depth, 0);
    return { depth, adds: this.#adds, active: this.#working };
  }

  queueOf(name: string): ClusterQueue<T> {
    for (const queue of this.#queues) if (queue.closed) this.#queues.delete(queue);
    const queue = new ClusterQueue<T>(name, this.#options, {
      added: () => {
        this.#adds += 1;
      },
      offer: (offered, rank) => {
        this.#rings[rank].add(offered);
        this.#options.ready();
      },
      released: () => {
        this.#working -= 1;
        this.#options.ready();
      },
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

  /** The first queue that may use a free slot. One that has to wait for another slot keeps its turn. */
  #next(rank: Rank): ClusterQueue<T> | undefined {
    const free = this.#options.slots - this.#working;
    if (free <= 0) return undefined;
    const ring = this.#rings[rank];
    for (const queue of ring) {
      if (free <= this.#kept && !queue.isFree) continue;
      ring.delete(queue);
      return queue;
    }
    return undefined;
  }
}
