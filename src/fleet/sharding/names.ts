/** Names and labels of a fleet's Leases, and what a replica writes in its own Lease. Pure. */
import { createHash } from 'node:crypto';
import type { Lease } from '../lease/lease.ts';

const prefix = 'clusterprofile-credentials';
const fleetLabel = `${prefix}/fleet`;
const roleLabel = `${prefix}/role`;
const identityAnnotation = `${prefix}/identity`;
const shardsAnnotation = `${prefix}/shards`;
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

export function labelsOf(fleet: string, role: 'shard' | 'peer'): Readonly<Record<string, string>> {
  return { [fleetLabel]: fleet, [roleLabel]: role };
}

export function shardLeaseName(fleet: string, shard: number): string {
  return `${fleet}-shard-${shard}`;
}

/** An identity may be longer than a name, and have other characters. */
export function peerLeaseName(fleet: string, identity: string): string {
  return `${fleet}-peer-${createHash('sha256').update(identity).digest('hex').slice(0, 16)}`;
}

/** What a replica tells the others of itself. */
export interface PeerFacts {
  readonly identity: string;
  /** How many shards it believes in. */
  readonly shards: number;
  /** 0 while it does not want any. */
  readonly weight: number;
}

export function peerAnnotations({ identity, shards, weight }: PeerFacts): Readonly<Record<string, string>> {
  return { [identityAnnotation]: identity, [shardsAnnotation]: String(shards), [weightAnnotation]: String(weight) };
}

/** Looks at the name too: somebody may have changed the label of a shard's Lease. */
export function isPeer({ metadata: { name, labels } }: Lease): boolean {
  return labels?.[roleLabel] === 'peer' && /-peer-[0-9a-z]+$/.test(name);
}

/** Whether it says how many shards its replica believes in. Somebody may have edited it by hand. */
export function saysShards({ metadata }: Lease): boolean {
  return /^[1-9]\d{0,5}$/.test(metadata.annotations?.[shardsAnnotation] ?? '');
}

/** Somebody may have edited it by hand: what is no number counts as nothing. */
export function peerFacts({ metadata }: Lease): PeerFacts {
  const annotations = metadata.annotations ?? {};
  const weight = Number(annotations[weightAnnotation]);
  return {
    identity: annotations[identityAnnotation] ?? metadata.name,
    shards: Number(annotations[shardsAnnotation]),
    weight: weight > 0 && weight <= maxWeight ? weight : 0,
  };
}

export const maxWeight = 1_000;

/** The shard of a Lease; `undefined` for what is none of them. */
export function shardOfLease(fleet: string, { metadata: { name, labels } }: Lease): number | undefined {
  const start = shardLeaseName(fleet, 0).slice(0, -1);
  if (labels?.[roleLabel] !== 'shard' || !name.startsWith(start)) return undefined;
  const text = name.slice(start.length);
  return /^(0|[1-9]\d{0,5})$/.test(text) ? Number(text) : undefined;
}

/** What a process writes as the holder. It differs for two processes that have the same identity. */
export function holderName(identity: string, nonce: string): string {
  return `${identity}_${nonce}`;
}

/** The identity in what `holderName` made. */
export function identityOf(holder: string): string {
  return holder.replace(/_[0-9a-f]+$/, '');
}
