/**
 * A Lease as this process sees it, from answers and watches. Whether it has expired depends on the time since a change was
 * seen, on this machine's monotonic clock. Times that others wrote are not used.
 */
import type { Clock } from '../clock.ts';
import { isOlder } from '../reflect/events.ts';
import { durationOf, holderOf, type Lease } from './lease.ts';

/** The Lease as it was seen last. */
interface Observation {
  /** `undefined` where it is gone; its last holder may go on for a while. */
  readonly lease: Lease | undefined;
  readonly holder: string | undefined;
  /** The clock's uptime in which it was first seen like this. */
  readonly at: number;
  readonly durationMs: number;
}

export class LeaseView {
  readonly #clock: Clock;
  readonly #lasts: (saidMs: number | undefined) => number;
  #observation: Observation | undefined;

  /** `lasts`: the milliseconds for which a Lease is its holder's, by what it says itself. */
  constructor(clock: Clock, lasts: (saidMs: number | undefined) => number) {
    this.#clock = clock;
    this.#lasts = lasts;
  }

  /** Whether anything is known of it. */
  get isKnown(): boolean {
    return this.#observation !== undefined;
  }

  /** `undefined` where there is none, or nothing is known. */
  get lease(): Lease | undefined {
    return this.#observation?.lease;
  }

  /** Who the Lease says has it. It may have expired. */
  get holder(): string | undefined {
    return this.#observation?.holder;
  }

  /** The clock's uptime in which the Lease was first seen as it is. */
  get seenAt(): number | undefined {
    return this.#observation?.at;
  }

  /** The clock's uptime from which on its holder has lost it; 0 where nobody has it. */
  get expiresAt(): number {
    const { holder, at, durationMs } = this.#observation ?? {};
    return holder === undefined || at === undefined || durationMs === undefined ? 0 : at + durationMs;
  }

  /** Somebody has it. */
  get isLive(): boolean {
    return this.#clock.uptime() < this.expiresAt;
  }

  /** A watch says how it is. Returns whether that is news: an event may come after an answer that is newer. */
  observe(lease: Lease): boolean {
    return !this.#isOld(lease) && this.accept(lease);
  }

  /** A watch says that it is gone; `last` is what it was, with the version in which it went. */
  observeDeleted(last: Lease): boolean {
    return !this.#isOld(last) && this.acceptAbsence();
  }

  /** The server has answered that it is like this, whatever was known before. */
  accept(lease: Lease): boolean {
    const known = this.#observation?.lease?.metadata;
    const { uid, resourceVersion } = lease.metadata;
    if (known && known.uid === uid && known.resourceVersion === resourceVersion) return false;
    const durationMs = this.#lasts(durationOf(lease));
    this.#observation = { lease, holder: holderOf(lease), at: this.#clock.uptime(), durationMs };
    return true;
  }

  /** There is none. If there was one, somebody has deleted it by hand, and its holder does not know that yet. */
  acceptAbsence(): boolean {
    const before = this.#observation;
    if (before && !before.lease) return false;
    const { holder, durationMs = this.#lasts(undefined) } = before ?? {};
    this.#observation = { lease: undefined, holder, durationMs, at: this.#clock.uptime() };
    return true;
  }

  /** The duration counts from now: this process could not see changes for a while. */
  startAgain(): void {
    if (this.#observation) this.#observation = { ...this.#observation, at: this.#clock.uptime() };
  }

  #isOld({ metadata }: Lease): boolean {
    const known = this.#observation?.lease?.metadata;
    return known !== undefined && isOlder(metadata.resourceVersion, known.resourceVersion);
  }
}
