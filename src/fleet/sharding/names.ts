/** Names and labels of a fleet's Leases, and what a replica writes in its own Lease. Pure. */
import { createHash } from 'node:crypto';
import type { Lease } from '../lease/lease.ts';

const prefix = 'clusterprofile-credentials';
const fleetLabel = `${prefix}/fleet`;
const roleLabel = `${prefix}/role`;
const identityAnnotation = `${prefix}/identity`;
const weightAnnotation = `${prefix}/weight`;

/** Finds all Leases of a fleet. */
export function leaseSelector(fleet: string): string {
  return `${fleetLabel}=${fleet}`;
}

/** Finds the Leases of all fleets. */
export const anyLeaseSelector = fleetLabel;

/** The fleet of a Lease, by its label. */
export function fleetOf({ metadata }: Lease): string | undefined {
  return metadata.labels?.[fleetLabel];
}

export function labelsOf(fleet: string, role: 'shard' | 'replica'): Readonly<Record<string, string>> {
  return { [fleetLabel]: fleet, [roleLabel]: role };
}

export function shardLeaseName(fleet: string, shard: number): string {
  return `${fleet}-shard-${shard}`;
}

/** An identity may be longer than a name, and have other characters. */
export function replicaLeaseName(fleet: string, identity: string): string {
  return `${fleet}-replica-${createHash('sha256').update(identity).digest('hex').slice(0, 16)}`;
}

/** What a replica writes about itself in its Lease. */
export interface ReplicaFacts {
  readonly identity: string;
  /** 0 while it wants none. */
  readonly weight: 0 | 1;
}

export function replicaAnnotations({ identity, weight }: ReplicaFacts): Readonly<Record<string, string>> {
  return { [identityAnnotation]: identity, [weightAnnotation]: String(weight) };
}

export function isReplica({ metadata: { labels } }: Lease): boolean {
  return labels?.[roleLabel] === 'replica';
}

/** `undefined` if an annotation is missing or makes no sense. */
export function replicaFacts({ metadata: { annotations = {} } }: Lease): ReplicaFacts | undefined {
  const { [identityAnnotation]: identity, [weightAnnotation]: weight = '' } = annotations;
  if (identity === undefined || !/^[01]$/.test(weight)) return undefined;
  return { identity, weight: weight === '1' ? 1 : 0 };
}

/** The shard of a Lease; `undefined` for any other Lease. */
export function shardOfLease(fleet: string, { metadata: { name, labels } }: Lease): number | undefined {
  const start = shardLeaseName(fleet, 0).slice(0, -1);
  if (labels?.[roleLabel] !== 'shard' || !name.startsWith(start)) return undefined;
  const text = name.slice(start.length);
  return /^(0|[1-9]\d{0,5})$/.test(text) ? Number(text) : undefined;
}

/**
 * The holder that a replica writes in Leases: its identity and its session. Each process has another nonce, and a process that
 * has lost its own Lease begins another session.
 */
export function sessionName(identity: string, nonce: string, count: number): string {
  return `${identity}_${nonce}-${count}`;
}

/** The identity in a session's name. */
export function identityOf(session: string): string {
  return session.replace(/_[0-9a-f]+-\d+$/, '');
}
