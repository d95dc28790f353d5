/** A Lease of `coordination.k8s.io/v1`: its wire type, and how its expiry is observed. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { KubernetesObject } from '../rest/api/kubernetes-object.ts';
import type { Clock } from './clock.ts';
import { isOlder } from './reflect/events.ts';

export const leaseKind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' } as const;

/** Any field may be absent: people and other programs write Leases too. */
export interface LeaseSpec {
  /** Empty or absent: it is free. */
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  /** RFC 3339 with six digits of a second. */
  readonly acquireTime?: string;
  readonly renewTime?: string;
  /** How often it went from one holder to another. */
  readonly leaseTransitions?: number;
}

export interface Lease extends KubernetesObject {
  readonly spec?: LeaseSpec;
}

/** `undefined` if it is free. */
export function holderOf(lease: Lease): string | undefined {
  const holder: unknown = lease.spec?.holderIdentity;
  return typeof holder === 'string' && holder !== '' ? holder : undefined;
}

/** Milliseconds for which a Lease is its holder's after it was written; `undefined` if it does not say. */
export function durationOf(lease: Lease): number | undefined {
  const seconds: unknown = lease.spec?.leaseDurationSeconds;
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : undefined;
}

export function transitionsOf(lease: Lease): number {
  const transitions: unknown = lease.spec?.leaseTransitions;
  return typeof transitions === 'number' && transitions >= 0 ? transitions : 0;
}

/** Milliseconds since 1970 as a Lease has them: a server takes exactly six digits of a second. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

/** The pod's name (`POD_NAME`, by the downward API), else the host's name, which is the same in a pod without hostNetwork. */
export function processName(): string {
  return process.env.POD_NAME || hostname();
}

/** As controller-runtime has it: a process that is started again in the same pod is another one. */
export function uniqueIdentity(): string {
  return `${processName()}_${randomUUID()}`;
}

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

/** What this process knows of one Lease. */
export class LeaseView {
  readonly name: string;
  /** For how long this process holds its own Leases. */
  readonly durationMs: number;
  readonly #clock: Clock;
  #observation: Observation | undefined;

  constructor(name: string, durationMs: number, clock: Clock) {
    this.name = name;
    this.durationMs = durationMs;
    this.#clock = clock;
  }

  /** Another one after each change that is seen, and when its duration starts again; `undefined` if not even its absence is known. */
  get observation(): object | undefined {
    return this.#observation;
  }

  /** Whether there ever was one. */
  get wasSeen(): boolean {
    return this.#observation?.version !== undefined;
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
    const own = this.durationMs;
    // More than twice the own one is not believed: anyone can write that number.
    const durationMs = Math.min(Math.max(durationOf(lease) ?? own, own), 2 * own);
    const at = this.#clock.uptime();
    this.#observation = { lease, holder: holderOf(lease), version: resourceVersion, at, durationMs };
    return true;
  }

  /**
   * There is none. If there was one, it was deleted by hand. Its holder does not know that yet, and need not be the one that
   * was seen last: the whole duration counts from now.
   */
  acceptAbsence(version?: string): boolean {
    const before = this.#observation;
    if (before && !before.lease) return false;
    const durationMs = Math.max(before?.durationMs ?? 0, this.durationMs);
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
