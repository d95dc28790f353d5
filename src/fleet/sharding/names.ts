/** The shards and Leases of a fleet: which replica gets which, their names, their content, and their timing. */
import { createHash } from 'node:crypto';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../clock.ts';
import type { Lease } from '../lease.ts';
import type { Leases } from '../leases.ts';
import type { FleetObserver } from '../telemetry.ts';

/** What every part of a shared fleet knows. */
export interface ShardingContext {
  readonly leases: Leases;
  /** Of the fleet: replicas with the same share it. */
  readonly name: string;
  /** Of this replica. */
  readonly identity: string;
  /** Distinguishes this process from others that have the same identity. */
  readonly nonce: string;
  /** 0: it owns no shards. */
  readonly weight: 0 | 1;
  readonly timing: Readonly<ReturnType<typeof timingOf>>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: FleetObserver | undefined;
  /** From 0 to 1. */
  readonly random: () => number;
}

const prefix = 'clusterprofile-credentials';
const fleetLabel = `${prefix}/fleet`;
const roleLabel = `${prefix}/role`;
const identityAnnotation = `${prefix}/identity`;
const weightAnnotation = `${prefix}/weight`;

export function leaseSelector(fleet: string): string {
  return `${fleetLabel}=${fleet}`;
}

export const anyLeaseSelector = fleetLabel;

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

/** What a replica writes about itself in its Lease: also a weight of 0 while it leaves. */
export type ReplicaFacts = Pick<ShardingContext, 'identity' | 'weight'>;

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

export function identityOf(session: string): string {
  return session.replace(/_[0-9a-f]+-\d+$/, '');
}

export const longestLeaseMs = 600_000;

/**
 * A hub that is away for less than a third of the duration changes nothing. It is back 7/12 of the duration after the last
 * renewal at the latest, when 1/12 is left to the deadline: a renewal that hangs is given up after half of that, and the next
 * one succeeds.
 */
export const timingOf = (durationMs: number) => ({
  /** How long others wait after the last change of a replica's Lease. */
  durationMs,
  /** How long after the start of its last successful renewal a replica stops its work. */
  deadlineMs: (durationMs * 2) / 3,
  renewMs: durationMs / 4,
  /** Before a renewal that failed is tried again. */
  retryMs: durationMs / 60,
  /** Before a failed change of a shard's Lease is tried again. */
  shardRetryMs: durationMs / 15,
  /** For a request. */
  requestTimeoutMs: durationMs / 3,
  /** For a renewal after the deadline, before the next one begins. */
  patienceMs: durationMs / 6,
  /** The least time that a renewal gets before the deadline. */
  shortestMs: durationMs / 30,
});

/** A little less at random, so that requests that began together spread out. */
export function spread(ms: number, random: () => number): number {
  return ms * (0.9 + 0.1 * random());
}

/** Whole milliseconds to a moment of the clock's uptime: what is less than one would be waited for again and again. */
export function millisecondsTo(moment: number, clock: Clock): number {
  return Math.max(0, Math.ceil(moment - clock.uptime()));
}

/**
 * By shard, the identity of its replica; `undefined` if there are no replicas. Shares differ by one shard at most. When a
 * replica comes or goes, little else moves than its own share.
 */
export function assignShards(identities: readonly string[], shards: number): readonly (string | undefined)[] {
  const replicas = identities.map((identity) => ({ identity, hash: hashOf(identity), left: 0 }));
  replicas.sort((a, b) => a.hash - b.hash || (a.identity < b.identity ? -1 : 1));
  for (const [index, replica] of replicas.entries())
    replica.left = Math.floor(shards / replicas.length) + (index < shards % replicas.length ? 1 : 0);
  const pairs = replicas.flatMap((replica) =>
    Array.from({ length: shards }, (_, shard) => ({ replica, shard, score: scoreOf(replica.hash, shard) })),
  );
  // The pairs that fit best come first.
  pairs.sort((a, b) => b.score - a.score || a.shard - b.shard || (a.replica.identity < b.replica.identity ? -1 : 1));
  const owners = new Array<string | undefined>(shards).fill(undefined);
  for (const { replica, shard } of pairs) {
    if (replica.left === 0 || owners[shard] !== undefined) continue;
    owners[shard] = replica.identity;
    replica.left -= 1;
  }
  return owners;
}

function scoreOf(hash: number, shard: number): number {
  return mix(hash ^ Math.imul(shard + 1, 0x9e3779b1));
}

/** Every bit of the input changes half of the bits of the output (the finalizer of MurmurHash3). */
function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A text as 32 bits (FNV-1a over its UTF-16 units, and mixed). */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mix(hash);
}

/** How many shards a fleet has. Replicas that count on different numbers would work on the same clusters: it never changes. */
export const shardCount = 64;

/** The shard of a cluster, by what `identify` says of it. */
export function shardOf(key: string, shards: number): number {
  return hashOf(key) % shards;
}
