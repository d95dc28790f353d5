/** A Lease of `coordination.k8s.io/v1` as it is on the wire, what is read and written of it, and what a process calls itself in it. */

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import type { Clock } from '../clock.ts';

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

/** A Lease that is to be created or replaced. Where `metadata` has a `resourceVersion`, it is a precondition. */
export interface LeaseToWrite {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Partial<Lease['metadata']> & Pick<Lease['metadata'], 'name'>;
  readonly spec: LeaseSpec;
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

/** `lease` as `holder` writes it to take it or to renew it. */
export function heldSpec(
  lease: Lease | undefined,
  holder: string,
  { clock, durationMs }: { readonly clock: Clock; readonly durationMs: number },
): LeaseSpec {
  const now = microTime(clock.now());
  const isOwn = lease !== undefined && holderOf(lease) === holder;
  return {
    holderIdentity: holder,
    leaseDurationSeconds: durationMs / 1_000,
    acquireTime: (isOwn && lease.spec?.acquireTime) || now,
    renewTime: now,
    leaseTransitions: lease ? transitionsOf(lease) + (isOwn ? 0 : 1) : 0,
  };
}

/** `lease` as it is written to make it free: what client-go writes. */
export function releasedSpec(lease: Lease | undefined, clock: Clock): LeaseSpec {
  const now = microTime(clock.now());
  const times = { leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
  return { holderIdentity: '', leaseTransitions: lease ? transitionsOf(lease) : 0, ...times };
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
