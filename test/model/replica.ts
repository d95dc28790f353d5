/**
 * A replica: the real sharding, and clusters that it engages and lets go of as a fleet does. To sharding an object of the hub is a key
 * like that of a cluster: a reconcile enters it, and leaves it when it has ended or its time is over.
 */
import type { Fence } from '../../src/fleet/membership/ownership.ts';
import { timingOf } from '../../src/fleet/sharding/names.ts';
import { Sharding } from '../../src/fleet/sharding/sharding.ts';
import type { SimulatedHub } from './hub.ts';
import type { Process } from './world.ts';

export interface ReplicaOptions {
  readonly identity: string;
  readonly weight: 0 | 1;
  /** Milliseconds that work on a cluster needs at most to end. */
  readonly drainMs: number;
}

/** What the membership of a fleet says of a cluster. */
export interface Wanted {
  readonly ownerKey: string;
  /** The clock's uptime. */
  readonly notBefore?: number;
}

interface Engaged {
  readonly ownerKey: string;
  readonly fence: Fence | undefined;
  isEnding: boolean;
}

const quiet = { warn: () => {} };
let nonces = 0;

export class Replica {
  readonly process: Process;
  readonly options: ReplicaOptions;
  readonly sharding: Sharding;
  readonly #keys: readonly string[];
  readonly #wanted: (key: string) => Wanted | undefined;
  readonly #engaged = new Map<string, Engaged>();
  readonly #over = new WeakSet<Fence>();
  readonly #stop = new AbortController();
  hasLeft = false;

  constructor(
    process: Process,
    hub: SimulatedHub,
    options: ReplicaOptions,
    keys: readonly string[],
    wanted: (key: string) => Wanted | undefined = (key) => ({ ownerKey: key }),
  ) {
    this.#wanted = wanted;
    this.process = process;
    this.options = options;
    this.#keys = keys;
    this.sharding = new Sharding({
      ...hub.for(process),
      name: 'model',
      identity: options.identity,
      shards: 4,
      timing: timingOf(30_000),
      weight: options.weight,
      clock: process.clock,
      logger: quiet,
      observer: undefined,
      random: process.world.random,
      nonce: (nonces++).toString(16),
    });
    const running = this.sharding.run(() => this.look(), this.#stop.signal);
    running.then(() => {
      this.hasLeft = true;
      this.look();
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

  /** In order. */
  leave(): void {
    this.process.deliver(() => {
      this.#stop.abort();
      this.look();
    });
  }

  /** What it should work on may have changed. */
  look(): void {
    const { clock } = this.process;
    for (const key of this.#keys) {
      const wanted = this.#wanted(key);
      const owner = wanted && this.sharding.ownerOf(wanted.ownerKey);
      const engaged = this.#engaged.get(key);
      const waitMs = (wanted?.notBefore ?? 0) - clock.uptime();
      if (!engaged && owner?.mine && waitMs > 0) clock.after(waitMs, () => this.look());
      else if (!engaged && owner?.mine && !this.#stop.signal.aborted)
        this.#engage(key, { ownerKey: wanted?.ownerKey ?? key, fence: owner.fence, isEnding: false });
      else if (engaged && !engaged.isEnding && (!owner?.mine || owner.fence !== engaged.fence)) this.#disengage(key);
    }
  }

  #engage(key: string, engaged: Engaged): void {
    const { fence, ownerKey } = engaged;
    this.#engaged.set(key, engaged);
    this.sharding.enter(ownerKey, engaged);
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
      this.sharding.leave(engaged.ownerKey, engaged);
      this.look();
    });
  }
}
