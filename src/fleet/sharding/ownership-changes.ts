/** Shards whose owner has changed come in, and one call of the listener for all that changes in one turn goes out. */
import type { Logger } from '../../logger.ts';
import { guard } from '../guard.ts';
import type { OwnershipListener } from '../membership/ownership.ts';
import { shardOf } from './hash.ts';

export class OwnershipChanges {
  readonly #logger: Logger;
  readonly #shards: number;
  /** By shard, what was told last. */
  readonly #told = new Map<number, string>();
  #changes = new Set<number>();
  #listener: OwnershipListener | undefined;

  constructor(logger: Logger, shards: number) {
    this.#logger = logger;
    this.#shards = shards;
  }

  /** From now on this one is told. */
  listen(listener: OwnershipListener): void {
    this.#listener = listener;
  }

  /** `state` is all that a listener could ask of the shard. What was told last is not told again. */
  report(shard: number, state: unknown): void {
    const now = JSON.stringify(state);
    if (this.#told.get(shard) === now) return;
    this.#told.set(shard, now);
    if (this.#changes.size === 0) queueMicrotask(() => this.#tell());
    this.#changes.add(shard);
  }

  #tell(): void {
    const changes = this.#changes;
    this.#changes = new Set();
    guard(this.#logger, {}, 'sharding', () =>
      this.#listener?.changed((key) => changes.has(shardOf(key, this.#shards))),
    );
  }
}
