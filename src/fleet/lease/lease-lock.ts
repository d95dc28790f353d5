/**
 * A Lease as a lock that one process holds for a time. What the server says comes in. Whether this process holds it goes out.
 * Clocks of two machines are never compared. A process that waits counts from the moment when it saw the last change. The
 * holder counts from the moment before its last successful request. So the holder always ends first.
 */
import type { Clock } from '../clock.ts';
import { heldSpec, type Lease, type LeaseSpec, LeaseView, releasedSpec } from './lease.ts';
import type { Leases } from './leases.ts';

export interface LeaseLockOptions {
  readonly leases: Leases;
  readonly name: string;
  /** Written as the holder. Unique among the processes that live. */
  readonly identity: string;
  /** Milliseconds, whole seconds, for which others wait after the last change that they saw. */
  readonly durationMs: number;
  /** Milliseconds for which the lock is held after the start of the last successful request. Less than `durationMs`. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  /** Called when the known state of the Lease may have changed. */
  readonly changed: () => void;
}

/** Methods that ask the server are called one at a time. */
export class LeaseLock {
  readonly #view: LeaseView;
  readonly #options: LeaseLockOptions;
  #heldUntil = Number.NEGATIVE_INFINITY;

  constructor(options: LeaseLockOptions) {
    const { clock, durationMs } = options;
    this.#view = new LeaseView(clock, durationMs);
    this.#options = options;
  }

  /** This process holds it, and no other one does. True at this moment only. */
  get isHeld(): boolean {
    return this.#options.clock.uptime() < this.#heldUntil;
  }

  /** The clock's uptime until which it is held, unless it is renewed. */
  get heldUntil(): number {
    return this.#heldUntil;
  }

  /** The holder that the Lease names, this process included. It may have expired. */
  get holder(): string | undefined {
    return this.#view.holder;
  }

  /** No other process holds it. Where it is gone, only its holder may write it again at once: others may have held it since. */
  get #mayTake(): boolean {
    const { lease, holder, isLive, wasSeen } = this.#view;
    return this.isHeld || (lease !== undefined && holder === this.#options.identity) || !isLive || !wasSeen;
  }

  /** Asks the server how it is. Rejects with the failure of the request. */
  async look(): Promise<void> {
    const { leases, name } = this.#options;
    await leases.look(name, this.#view);
    this.#changed();
  }

  /**
   * Takes it if no other process holds it, or renews it. `false` if another process holds it, or the answer came too late.
   * Rejects with the failure of a request; the server may have done it all the same, which the next attempt finds out.
   */
  async hold(): Promise<boolean> {
    const { clock, deadlineMs, identity } = this.#options;
    if (!this.#view.observation) await this.look();
    for (const isLast of [false, true]) {
      if (!this.#mayTake) return false;
      const start = clock.uptime();
      if (await this.#write(heldSpec(this.#view.lease, identity, this.#options))) {
        this.#heldUntil = start + deadlineMs;
        this.#changed();
        return this.isHeld;
      }
      if (!isLast) await this.look();
    }
    return false;
  }

  /**
   * Releases it: it is not held from now on, and free for others as soon as the server has the change. Rejects with the failure
   * of a request, or if others change it each time; others then wait until it has expired.
   */
  async release(): Promise<void> {
    const { name, identity, clock } = this.#options;
    this.#heldUntil = Number.NEGATIVE_INFINITY;
    this.#changed();
    for (const isLast of [false, true]) {
      const { lease } = this.#view;
      if (!lease || this.holder !== identity) return;
      if (await this.#write(releasedSpec(lease, clock))) return;
      if (!isLast) await this.look();
    }
    throw new Error(`Lease ${name}: others changed it at each attempt to release it`);
  }

  /** Whether the server has it like this now. */
  async #write(spec: LeaseSpec): Promise<boolean> {
    const { leases, name } = this.#options;
    const known: Lease['metadata'] | undefined = this.#view.lease?.metadata;
    const isWritten = await leases.write({ metadata: { ...known, name }, spec }, this.#view);
    if (isWritten) this.#changed();
    return isWritten;
  }

  #changed(): void {
    if (this.holder !== this.#options.identity) this.#heldUntil = Number.NEGATIVE_INFINITY;
    this.#options.changed();
  }
}
