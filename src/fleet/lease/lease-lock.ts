/**
 * A Lease as a lock that somebody holds for a time. What the server says comes in. Whether this process holds it goes out.
 * Clocks of two machines are never compared. A process that waits counts from the moment when it saw the last change. The
 * holder counts from the moment before its last successful request. So the holder always ends first.
 */
import { within } from '../api-server.ts';
import type { Clock } from '../clock.ts';
import { type Lease, type LeaseSpec, type LeaseToWrite, leaseKind, microTime, transitionsOf } from './lease.ts';
import { LeaseView } from './lease-view.ts';
import type { Leases } from './leases.ts';

export interface LeaseLockOptions {
  readonly leases: Leases;
  readonly name: string;
  /** Written as the holder. No two processes that live may have the same. */
  readonly identity: string;
  /** Milliseconds, whole seconds, for which others wait after the last change that they saw. */
  readonly durationMs: number;
  /** Milliseconds for which a Lease of others is theirs, by what it says itself. Default: what it says, else `durationMs`. */
  readonly lasts?: (saidMs: number | undefined) => number;
  /** Milliseconds for which the lock is held after the start of the last successful request. Less than `durationMs`. */
  readonly deadlineMs: number;
  /** Milliseconds after which a request is given up. */
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  /** Written with each change. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: () => Readonly<Record<string, string>>;
  /** What is known of it has changed. */
  readonly changed?: () => void;
}

/** Nothing where nobody had it before. */
export interface Taken {
  /** Who held it until it expired; `undefined` where the holder had given it away. */
  readonly holder?: string | undefined;
  /** The clock's uptime in which the last sign of it was seen. */
  readonly seenAt?: number;
}

/** The field is an int32. */
const maxTransitions = 2 ** 31 - 1;

/** Methods that ask the server are called one at a time. */
export class LeaseLock {
  readonly name: string;
  readonly identity: string;
  readonly view: LeaseView;
  readonly #options: LeaseLockOptions;
  #heldUntil = Number.NEGATIVE_INFINITY;
  #takenFrom: Taken = {};

  constructor(options: LeaseLockOptions) {
    const { name, identity, clock, durationMs, lasts = (saidMs = durationMs) => saidMs } = options;
    this.name = name;
    this.identity = identity;
    this.view = new LeaseView(clock, lasts);
    this.#options = options;
  }

  /** This process has it, and nobody else. True at this moment only. */
  get isHeld(): boolean {
    return this.#options.clock.uptime() < this.#heldUntil;
  }

  /** The clock's uptime from which on it is not held any more, unless it is renewed. */
  get heldUntil(): number {
    return this.#heldUntil;
  }

  /** Who the Lease says has it, this process included. It may have expired. */
  get holder(): string | undefined {
    return this.view.holder;
  }

  /** Nobody else has it. */
  get mayTake(): boolean {
    return this.view.holder === this.identity || !this.view.isLive;
  }

  /** Whom this process took it from when it took it last. */
  get takenFrom(): Taken {
    return this.#takenFrom;
  }

  /** A watch says how it is. */
  observe(lease: Lease): void {
    if (this.view.observe(lease)) this.#changed();
  }

  /** A watch says that it is gone; `last` is what it was, with the version in which it went. */
  observeDeleted(last: Lease): void {
    if (this.view.observeDeleted(last)) this.#changed();
  }

  /** Asks the server how it is. Rejects with the failure of the request. */
  async look(): Promise<void> {
    const lease = await this.#ask((signal) => this.#options.leases.get(this.name, signal));
    if (lease ? this.view.accept(lease) : this.view.acceptAbsence()) this.#changed();
  }

  /**
   * Takes it where nobody else has it, or renews it. `false` where somebody else has it, or the answer came too late. Rejects
   * with the failure of a request; the server may have done it all the same, which the next try finds out.
   */
  async hold(): Promise<boolean> {
    const { clock, deadlineMs } = this.#options;
    if (!this.view.isKnown) await this.look();
    for (const isLast of [false, true]) {
      if (!this.mayTake) return false;
      const start = clock.uptime();
      const { lease, holder, seenAt } = this.view;
      if (await this.#write(this.#heldSpec())) {
        // Its own that it had lost is taken anew.
        if (holder !== this.identity || start >= this.#heldUntil)
          this.#takenFrom = { holder, ...(lease && seenAt !== undefined ? { seenAt } : {}) };
        this.#heldUntil = start + deadlineMs;
        this.#changed();
        return this.isHeld;
      }
      if (!isLast) await this.look();
    }
    return false;
  }

  /**
   * Gives it away: it is not held from now on, and free for others as soon as the server has heard of it. Rejects with the
   * failure of a request, or where others write it each time; others then wait until it has expired.
   */
  release(): Promise<void> {
    const now = microTime(this.#options.clock.now());
    const times = { leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
    return this.#giveUp((lease) =>
      this.#write({ holderIdentity: '', leaseTransitions: transitionsOf(lease), ...times }),
    );
  }

  /** Gives it away for good: it is deleted. */
  remove(): Promise<void> {
    return this.#giveUp((lease) => this.#ask((signal) => this.#options.leases.delete(lease, signal)));
  }

  async #giveUp(write: (lease: Lease) => Promise<boolean>): Promise<void> {
    this.#heldUntil = Number.NEGATIVE_INFINITY;
    this.#changed();
    for (const isLast of [false, true]) {
      const { lease } = this.view;
      if (!lease || this.holder !== this.identity || (await write(lease))) return;
      if (!isLast) await this.look();
    }
    // A caller that does not know would believe that it was given away, or try again at once.
    throw new Error(`Lease ${this.name}: it was changed by others each time that it was to be given away`);
  }

  #heldSpec(): LeaseSpec {
    const { clock, durationMs } = this.#options;
    const now = microTime(clock.now());
    const { lease, holder } = this.view;
    const isMine = holder === this.identity;
    return {
      holderIdentity: this.identity,
      leaseDurationSeconds: durationMs / 1_000,
      acquireTime: (isMine && lease?.spec?.acquireTime) || now,
      renewTime: now,
      leaseTransitions: lease ? Math.min(transitionsOf(lease) + (isMine ? 0 : 1), maxTransitions) : 0,
    };
  }

  /** Whether the server has it like this now. */
  async #write(spec: LeaseSpec): Promise<boolean> {
    const { leases, labels, annotations } = this.#options;
    const known = this.view.lease?.metadata;
    const object: LeaseToWrite = {
      ...leaseKind,
      metadata: {
        ...known,
        name: this.name,
        ...(labels ? { labels: { ...known?.labels, ...labels } } : {}),
        ...(annotations ? { annotations: { ...known?.annotations, ...annotations() } } : {}),
      },
      spec,
    };
    const written = await this.#ask((signal) =>
      known ? leases.update(object, signal) : leases.create(object, signal),
    );
    if (!written) return false;
    if (this.view.accept(written)) this.#changed();
    return true;
  }

  #changed(): void {
    if (this.view.holder !== this.identity) this.#heldUntil = Number.NEGATIVE_INFINITY;
    this.#options.changed?.();
  }

  #ask<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, requestTimeoutMs } = this.#options;
    return within(clock, requestTimeoutMs, `Lease ${this.name}: no answer for ${requestTimeoutMs / 1_000} s`, request);
  }
}
