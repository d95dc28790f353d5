/** Shards whose owner has changed come in, and one call of the listener for all that changes in one turn goes out. */
import type { Logger } from '../../observability/logger.ts';
import { guard } from '../guard.ts';
import type { OwnershipListener } from '../membership/ownership.ts';
import { shardOf } from './hash.ts';

export class OwnershipChanges {
  readonly #logger: Logger;
  readonly #shards: number;
  /** By shard, what was reported last. */
  readonly #reported = new Map<number, string>();
  #changes = new Set<number>();
  #listener: OwnershipListener | undefined;

  constructor(logger: Logger, shards: number) {
    this.#logger = logger;
    this.#shards = shards;
  }

  listen(listener: OwnershipListener): void {
    this.#listener = listener;
  }

  /** `state` is all that a listener could ask of the shard. Without a change of it, nothing is reported. */
  report(shard: number, state: unknown): void {
    const now = JSON.stringify(state);
    if (this.#reported.get(shard) === now) return;
    this.#reported.set(shard, now);
    if (this.#changes.size === 0) queueMicrotask(() => this.#notify());
    this.#changes.add(shard);
  }

  #notify(): void {
    const changes = this.#changes;
    this.#changes = new Set();
    guard(this.#logger, {}, 'sharding', () =>
      this.#listener?.changed((key) => changes.has(shardOf(key, this.#shards))),
    );
  }
}
