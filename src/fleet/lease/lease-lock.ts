/**
 * One Lease as a lock that has a holder for a time. What the server says of it comes in, whether this process has it goes out.
 * Clocks of two machines are never compared: who waits for a Lease counts from the moment in which it saw the last change, who
 * has it from the moment before its last successful request. So the holder always ends first.
 */
import { Deadline } from '../api-server.ts';
import type { Clock } from '../clock.ts';
import { isOlder } from '../reflect/events.ts';
import { durationOf, holderOf, type Lease, type LeaseToWrite, leaseKind, microTime, transitionsOf } from './lease.ts';
import type { Leases } from './leases.ts';

export interface LeaseLockOptions {
  readonly leases: Leases;
  readonly name: string;
  /** Written as the holder. No two processes that live may have the same. */
  readonly identity: string;
  /** Milliseconds, whole seconds, for which others wait after the last change that they saw. */
  readonly durationMs: number;
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

/** The Lease as it was seen last. */
interface Observation {
  /** `undefined` where it is gone; its last holder may go on for a while. */
  readonly lease: Lease | undefined;
  readonly holder: string | undefined;
  /** The clock's uptime in which it was first seen like this. */
  readonly at: number;
  readonly durationMs: number;
}

/** Methods that ask the server are called one at a time. */
export class LeaseLock {
  readonly name: string;
  readonly identity: string;
  readonly #options: LeaseLockOptions;
  #observation: Observation | undefined;
  #heldUntil = Number.NEGATIVE_INFINITY;

  constructor(options: LeaseLockOptions) {
    this.name = options.name;
    this.identity = options.identity;
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
    return this.#observation?.holder;
  }

  /** The clock's uptime at which the Lease was first seen as it is; `undefined` before anything is known of it. */
  get seenAt(): number | undefined {
    return this.#observation?.at;
  }

  /** The clock's uptime from which on somebody else than the holder may take it. */
  get expiresAt(): number {
    const { holder, at, durationMs } = this.#observation ?? {};
    return holder === undefined || at === undefined || durationMs === undefined ? 0 : at + durationMs;
  }

  /** Nobody else has it. */
  get mayTake(): boolean {
    const { holder } = this;
    return holder === undefined || holder === this.identity || this.#options.clock.uptime() >= this.expiresAt;
  }

  /** How many times it went from one holder to another. */
  get transitions(): number {
    const lease = this.#observation?.lease;
    return lease ? transitionsOf(lease) : 0;
  }

  /** A watch says how it is. What is older than what is known, such as an event that comes after our own change, is passed over. */
  observe(lease: Lease): void {
    const known = this.#observation?.lease;
    if (known && isOlder(lease.metadata.resourceVersion, known.metadata.resourceVersion)) return;
    this.#accept(lease);
  }

  /** A watch says that it is gone; `last` is what it was, with the version in which it went. */
  observeDeleted(last: Lease): void {
    const known = this.#observation?.lease;
    if (known && isOlder(last.metadata.resourceVersion, known.metadata.resourceVersion)) return;
    this.#acceptAbsence();
  }

  /** Asks the server how it is. Rejects with the failure of the request. */
  async look(): Promise<void> {
    const lease = await this.#ask((signal) => this.#options.leases.get(this.name, signal));
    if (lease) this.#accept(lease);
    else this.#acceptAbsence();
  }

  /**
   * Takes it where nobody else has it, or renews it. `false` where somebody else has it, or the answer came too late. Rejects
   * with the failure of a request; the server may have done it all the same, which the next try finds out.
   */
  async hold(): Promise<boolean> {
    const { clock, deadlineMs } = this.#options;
    if (!this.#observation) await this.look();
    for (const isLast of [false, true]) {
      if (!this.mayTake) return false;
      const start = clock.uptime();
      if (await this.#write(this.#heldSpec())) {
        this.#heldUntil = start + deadlineMs;
        this.#options.changed?.();
        return this.isHeld;
      }
      if (!isLast) await this.look();
    }
    return false;
  }

  /**
   * Gives it away: it is not held from now on, and free for others as soon as the server has heard of it. Rejects with the
   * failure of a request; others then wait until it has expired.
   */
  async release(): Promise<void> {
    this.#heldUntil = Number.NEGATIVE_INFINITY;
    for (const isLast of [false, true]) {
      if (this.holder !== this.identity || !this.#observation?.lease) return;
      const now = microTime(this.#options.clock.now());
      const spec = { leaseDurationSeconds: 1, leaseTransitions: this.transitions, acquireTime: now, renewTime: now };
      if (await this.#write({ holderIdentity: '', ...spec })) return;
      if (!isLast) await this.look();
    }
  }

  /** Gives it away for good. */
  async remove(): Promise<void> {
    this.#heldUntil = Number.NEGATIVE_INFINITY;
    for (const isLast of [false, true]) {
      const lease = this.#observation?.lease;
      if (!lease || this.holder !== this.identity) return;
      if (await this.#ask((signal) => this.#options.leases.delete(lease, signal))) return;
      if (!isLast) await this.look();
    }
  }

  #heldSpec(): LeaseToWrite['spec'] {
    const { clock, durationMs } = this.#options;
    const now = microTime(clock.now());
    const { lease, holder } = this.#observation ?? {};
    const isMine = holder === this.identity;
    return {
      holderIdentity: this.identity,
      leaseDurationSeconds: durationMs / 1_000,
      acquireTime: (isMine && lease?.spec?.acquireTime) || now,
      renewTime: now,
      leaseTransitions: lease ? this.transitions + (isMine ? 0 : 1) : 0,
    };
  }

  /** Whether the server has it like this now. */
  async #write(spec: LeaseToWrite['spec']): Promise<boolean> {
    const { leases, labels, annotations } = this.#options;
    const known = this.#observation?.lease?.metadata;
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
    this.#accept(written);
    return true;
  }

  #accept(lease: Lease): void {
    const known = this.#observation?.lease?.metadata;
    const { uid, resourceVersion } = lease.metadata;
    if (known && known.uid === uid && known.resourceVersion === resourceVersion) return;
    const { clock, durationMs } = this.#options;
    const holder = holderOf(lease);
    this.#observation = { lease, holder, at: clock.uptime(), durationMs: durationOf(lease) ?? durationMs };
    if (holder !== this.identity) this.#heldUntil = Number.NEGATIVE_INFINITY;
    this.#options.changed?.();
  }

  /** Somebody deleted it by hand. Its holder does not know that yet. */
  #acceptAbsence(): void {
    const { clock, durationMs } = this.#options;
    const before = this.#observation;
    if (before && !before.lease) return;
    const holder = before?.holder;
    this.#observation = { durationMs, ...before, holder, lease: undefined, at: clock.uptime() };
    this.#options.changed?.();
  }

  async #ask<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, requestTimeoutMs } = this.#options;
    const deadline = new Deadline(clock, new AbortController().signal);
    deadline.set(requestTimeoutMs, `Lease ${this.name}: no answer for ${requestTimeoutMs / 1_000} s`);
    try {
      return await request(deadline.signal);
    } finally {
      deadline.end();
    }
  }
}
