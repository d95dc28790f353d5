/**
 * A replica: the real sharding, and clusters that it engages and lets go of as a fleet does. To sharding an object of the hub is a key
 * like that of a cluster: a reconcile enters it, and leaves it when it has ended or its time is over.
 */
import type { Fence } from '../../src/fleet/membership/ownership.ts';
import { Sharding } from '../../src/fleet/sharding/sharding.ts';
import type { SimulatedHub } from './hub.ts';
import type { Process } from './world.ts';

export interface ReplicaOptions {
  readonly identity: string;
  readonly weight: 0 | 1;
  /** Milliseconds that work on a cluster needs at most to end. */
  readonly drainMs: number;
}

const quiet = { warn: () => {} };
let nonces = 0;

export class Replica {
  readonly process: Process;
  readonly options: ReplicaOptions;
  readonly sharding: Sharding;
  readonly #keys: readonly string[];
  readonly #engaged = new Map<string, { readonly fence: Fence | undefined; isEnding: boolean }>();
  readonly #over = new WeakSet<Fence>();
  readonly #stop = new AbortController();
  hasLeft = false;

  constructor(process: Process, hub: SimulatedHub, options: ReplicaOptions, keys: readonly string[]) {
    this.process = process;
    this.options = options;
    this.#keys = keys;
    this.sharding = new Sharding({
      leases: hub.for(process),
      name: 'model',
      identity: options.identity,
      shards: 4,
      leaseDurationMs: 30_000,
      weight: options.weight,
      clock: process.clock,
      logger: quiet,
      observer: undefined,
      random: process.world.random,
      nonce: (nonces++).toString(16),
    });
    this.sharding.run({ changed: (affects) => this.#look(affects) }, this.#stop.signal).then(() => {
      this.hasLeft = true;
      this.#look(() => true);
    });
  }

  /** Requests to the cluster may leave it at this moment. Who was told that they may not waits for the next fence. */
  mayCall(key: string): boolean {
    const { fence } = this.#engaged.get(key) ?? {};
    if (!fence || !this.process.isRunning) return false;
    if (fence.isOver) this.#over.add(fence);
    else if (this.#over.has(fence)) throw new Error(`the fence of cluster ${key} was over and is not any more`);
    return !fence.isOver;
  }

  /** It works on the cluster, or did and has not ended. */
  hasEngaged(key: string): boolean {
    return this.#engaged.has(key);
  }

  /** In order. */
  leave(): void {
    this.process.deliver(() => {
      this.#stop.abort();
      this.#look(() => true);
    });
  }

  #look(affects: (key: string) => boolean): void {
    for (const key of this.#keys) {
      if (!affects(key)) continue;
      const owner = this.sharding.ownerOf(key);
      const engaged = this.#engaged.get(key);
      if (!engaged && owner.mine && !this.#stop.signal.aborted) this.#engage(key, owner.fence);
      else if (engaged && !engaged.isEnding && (!owner.mine || owner.fence !== engaged.fence)) this.#disengage(key);
    }
  }

  #engage(key: string, fence: Fence | undefined): void {
    const engaged = { fence, isEnding: false };
    this.#engaged.set(key, engaged);
    this.sharding.enter(key, engaged);
    fence?.signal.addEventListener('abort', () => this.#disengage(key), { once: true });
  }

  #disengage(key: string): void {
    const engaged = this.#engaged.get(key);
    if (!engaged || engaged.isEnding) return;
    engaged.isEnding = true;
    // Where it is over there is nothing to wait for.
    const ms = engaged.fence?.isOver ? 0 : this.options.drainMs * this.process.world.random();
    this.process.clock.after(ms, () => {
      this.#engaged.delete(key);
      this.sharding.leave(key, engaged);
      this.#look((other) => other === key);
    });
  }
}
