/**
 * A Lease as this process sees it, from answers and watches. Whether it has expired depends on the time since a change was
 * seen, on this machine's monotonic clock. Times that other machines wrote are not used.
 */
import type { Clock } from '../clock.ts';
import { isOlder } from '../reflect/events.ts';
import { durationOf, holderOf, type Lease } from './lease.ts';

/** The Lease as it was seen last. */
interface Observation {
  /** `undefined` if it is gone; its last holder may go on for a while. */
  readonly lease: Lease | undefined;
  readonly holder: string | undefined;
  /** The newest version that is known of it, also if it is gone. */
  readonly version: string | undefined;
  /** The clock's uptime in which it was first seen like this. */
  readonly at: number;
  /** Processes may have different durations: the longer of the holder's and the own one. */
  readonly durationMs: number;
}

export class LeaseView {
  readonly #clock: Clock;
  readonly #durationMs: number;
  #observation: Observation | undefined;
  #wasSeen = false;

  /** `durationMs`: for how long this process holds its own Leases. */
  constructor(clock: Clock, durationMs: number) {
    this.#clock = clock;
    this.#durationMs = durationMs;
  }

  /** Whether anything is known of it, if only that there is none. */
  get isKnown(): boolean {
    return this.#observation !== undefined;
  }

  /** Whether there ever was one. */
  get wasSeen(): boolean {
    return this.#wasSeen;
  }

  /** `undefined` if there is none, or nothing is known. */
  get lease(): Lease | undefined {
    return this.#observation?.lease;
  }

  /** The holder that it names, or did when it was there. It may have expired. */
  get holder(): string | undefined {
    return this.#observation?.holder;
  }

  /** The clock's uptime in which the Lease was first seen as it is. */
  get seenAt(): number | undefined {
    return this.#observation?.at;
  }

  /** The clock's uptime from which on no process holds it; 0 if it is free. */
  get expiresAt(): number {
    if (!this.#observation) return 0;
    const { lease, holder, at, durationMs } = this.#observation;
    return lease && holder === undefined ? 0 : at + durationMs;
  }

  /** A process may hold it. */
  get isLive(): boolean {
    return this.#clock.uptime() < this.expiresAt;
  }

  /** A watch or a list shows it. Returns whether that is news: an event may come after an answer that is newer. */
  observe(lease: Lease): boolean {
    return !this.#isOld(lease) && this.accept(lease);
  }

  /** A watch shows that it is gone; `last` is what it was, with the version in which it went. */
  observeDeleted(last: Lease): boolean {
    return !this.#isOld(last) && this.acceptAbsence(last.metadata.resourceVersion);
  }

  /** The server has answered that it is like this, whatever was known before. */
  accept(lease: Lease): boolean {
    const { uid, resourceVersion } = lease.metadata;
    const known = this.lease?.metadata;
    if (known?.uid === uid && known.resourceVersion === resourceVersion) return false;
    this.#wasSeen = true;
    const own = this.#durationMs;
    // Processes may have different durations. More than twice the own one is not believed: anyone can write that number.
    const durationMs = Math.min(Math.max(durationOf(lease) ?? own, own), 2 * own);
    const at = this.#clock.uptime();
    this.#observation = { lease, holder: holderOf(lease), version: resourceVersion, at, durationMs };
    return true;
  }

  /**
   * There is none. Where there was one, it was deleted by hand. Its holder does not know that yet, and need not be the one that
   * was seen last: the whole duration counts from now.
   */
  acceptAbsence(version?: string): boolean {
    const before = this.#observation;
    if (before && !before.lease) return false;
    const durationMs = Math.max(before?.durationMs ?? 0, this.#durationMs);
    const gone = { lease: undefined, holder: before?.holder, version: version ?? before?.version };
    this.#observation = { ...gone, at: this.#clock.uptime(), durationMs };
    return true;
  }

  /** The duration counts from now: this process could not see changes for a while. */
  startAgain(): void {
    if (this.#observation) this.#observation = { ...this.#observation, at: this.#clock.uptime() };
  }

  /** What is gone does not come back as it was. */
  #isOld({ metadata: { resourceVersion } }: Lease): boolean {
    const known = this.#observation?.version;
    return known !== undefined && (isOlder(resourceVersion, known) || (!this.lease && resourceVersion === known));
  }
}
