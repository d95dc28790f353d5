/**
 * This replica's own Lease, which tells the others that it lives, and its weight. The replica joins when it has made sure
 * that all replicas that live have the same number of shards. It owns shards only while it holds its Lease.
 */

import { FleetError } from '../../errors.ts';
import type { Clock } from '../clock.ts';
import type { LeaseLock } from '../lease/lease-lock.ts';
import { Wait } from '../wait.ts';
import { Attempts } from './attempts.ts';
import type { PeerFacts } from './names.ts';
import type { Peers } from './peers.ts';
import type { Timing } from './timing.ts';

export interface RegistrationContext {
  readonly clock: Clock;
  readonly timing: Timing;
  readonly random: () => number;
  readonly identity: string;
  readonly shards: number;
  readonly peers: Peers;
  /** What the operator wants now. */
  weight(): number;
  /** Asks the server for all Leases as they are at this moment, and tells `peers`. */
  read(): Promise<void>;
  /** Nothing of this replica is left to give away. */
  isGone(): boolean;
  /** It has joined, lost its place, or has another weight. */
  changed(): void;
  /** Another process has the same identity. */
  duplicated(holder: string): void;
  failed(error: unknown): void;
  /** After each renewal. */
  renewed(): Promise<void>;
}

export class Registration {
  readonly #context: RegistrationContext;
  readonly #lock: LeaseLock;
  readonly #wait: Wait;
  readonly #attempts: Attempts;
  #joined = false;
  /** What its Lease says. */
  #weight = 0;
  #leavesSince: number | undefined;
  /** The clock's uptime in which its last successful renewal ends, or ended. */
  #heldUntil = 0;
  #cancelDeadline = () => {};

  constructor(context: RegistrationContext, lockFor: (facts: () => PeerFacts, changed: () => void) => LeaseLock) {
    this.#context = context;
    this.#wait = new Wait(context.clock);
    this.#attempts = new Attempts(context);
    this.#lock = lockFor(() => this.#facts, this.#wait.poke);
  }

  get lock(): LeaseLock {
    return this.#lock;
  }

  /** It may own shards, at this moment. Others believe that it does for longer. */
  get isValid(): boolean {
    return this.#joined && this.#lock.isHeld;
  }

  get isLeaving(): boolean {
    return this.#leavesSince !== undefined;
  }

  get weight(): number {
    return this.#weight;
  }

  /** Something that it waits for may have changed. */
  readonly look = (): void => this.#wait.poke();

  /** From now on it wants nothing; `run` ends when everything has been given away. */
  leave(): void {
    this.#leavesSince ??= this.#context.clock.uptime();
    this.#attempts.reset();
    this.look();
  }

  /** Joins, and stays until it leaves. Rejects with `SHARDS_DIFFER` where others believe in another number of shards. */
  async run(): Promise<void> {
    while (!this.#isOver()) {
      const { clock } = this.#context;
      this.#look();
      const ms = this.#attempts.at - clock.uptime();
      if (ms <= 0) await this.#renew();
      else await this.#wait.for(ms);
      if (this.#lock.isHeld && !this.#joined && !this.isLeaving) await this.#join();
    }
    this.#cancelDeadline();
    if (this.#lock.holder === this.#lock.identity) await this.#lock.remove().catch(() => undefined);
  }

  /** It has left, or it cannot give anything away any more. */
  #isOver(): boolean {
    if (this.#leavesSince === undefined) return false;
    const { clock, timing, isGone } = this.#context;
    return isGone() || !this.#lock.isHeld || clock.uptime() - this.#leavesSince >= timing.durationMs;
  }

  async #renew(): Promise<void> {
    const { clock, failed, duplicated, renewed } = this.#context;
    const { heldUntil } = this.#lock;
    const facts = this.#facts;
    try {
      const held = await this.#lock.hold();
      if (!held) this.#attempts.failed();
      else if (this.isLeaving && facts.weight > 0) this.#attempts.reset();
      else this.#attempts.renewed();
      const { holder, identity } = this.#lock;
      if (!held && holder !== undefined && holder !== identity) duplicated(holder);
    } catch (error) {
      this.#attempts.failed();
      failed(error);
    }
    // Others may have thought that it is dead, and may have begun without it.
    if (clock.uptime() >= heldUntil) this.#lapse(heldUntil);
    if (!this.#lock.isHeld) return;
    this.#heldUntil = this.#lock.heldUntil;
    this.#cancelDeadline();
    this.#cancelDeadline = clock.after(this.#heldUntil - clock.uptime(), () => this.#look());
    if (facts.weight !== this.#weight) {
      this.#weight = facts.weight;
      this.#context.changed();
    }
    if (this.#joined) await renewed().catch(failed);
  }

  /**
   * Of two replicas that start together at least the later one sees the other: each writes its own Lease, and then reads all. So
   * two with different numbers of shards never both join. If the other one is dead, this one waits until its Lease has expired.
   */
  async #join(): Promise<void> {
    const { peers, shards, identity, read, failed } = this.#context;
    try {
      await read();
    } catch (error) {
      failed(error);
      this.#attempts.failed();
      return;
    }
    const other = peers.other(shards);
    if (other?.confirmed) {
      const message =
        `${identity} believes in ${shards} shards, and ${other.identity} in ${other.shards}: they would both work on some clusters. ` +
        'Give all replicas the same sharding.shards; to change it, stop all of them first';
      this.#joined = false;
      await this.#lock.remove().catch(() => undefined);
      throw new FleetError('SHARDS_DIFFER', message);
    }
    if (other || !this.#lock.isHeld) return;
    this.#joined = true;
    // Others hear at once that it wants shards.
    this.#attempts.reset();
    this.#context.changed();
  }

  /** When it holds its Lease no longer, it has to join again. */
  #look(): void {
    if (!this.#lock.isHeld) this.#lapse(this.#heldUntil);
  }

  /** The others may have gone on without it. It may not have heard of them since its last renewal, though they live. */
  #lapse(heldUntil: number): void {
    if (!this.#joined) return;
    this.#joined = false;
    const { peers, timing, changed } = this.#context;
    peers.startAgain(heldUntil - timing.deadlineMs);
    changed();
  }

  get #facts(): PeerFacts {
    const { identity, shards, weight } = this.#context;
    return { identity, shards, weight: this.#joined && !this.isLeaving ? weight() : 0 };
  }
}
