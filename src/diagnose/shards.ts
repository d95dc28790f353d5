/** Which replica of a controller works on which part of its fleet, from the Leases on the hub. Pure. */
import { durationOf, holderOf, type Lease, transitionsOf } from '../fleet/lease/lease.ts';
import { shardCount, shardOf } from '../fleet/sharding/assignment.ts';
import { fleetOf, identityOf, isReplica, shardOfLease } from '../fleet/sharding/names.ts';
import { textAt } from './fields.ts';

/** One shard. `-o json` of the program has the same names. */
export interface ShardRow {
  readonly fleet: string;
  readonly shard: number;
  /** The replica that owns it; absent if none does. */
  readonly owner?: string;
  /** By this machine's clock: `expired` if its owner has not renewed its own Lease in time, or has begun anew. */
  readonly state: 'held' | 'expired' | 'free';
  /** RFC 3339: when the owner renewed its own Lease last. */
  readonly renewed?: string;
  /** How often it moved between replicas. */
  readonly transitions: number;
  /** ClusterProfiles in it, by `namespace/name`. */
  readonly clusters: readonly string[];
}

/** The Leases of each fleet, by its name. */
export function fleetsOf(found: readonly unknown[]): ReadonlyMap<string, readonly Lease[]> {
  return Map.groupBy(found.filter(isLease), (lease) => fleetOf(lease) ?? '');
}

/** Of a fleet. A shard without a Lease is shown if it has clusters. */
export function shardsOf(
  fleet: string,
  leases: readonly Lease[],
  profiles: readonly string[],
  now: number,
): readonly ShardRow[] {
  const byShard = new Map(leases.map((lease) => [shardOfLease(fleet, lease), lease]));
  const replicas = leases.filter(isReplica);
  const bySession = new Map(replicas.map((lease) => [holderOf(lease), lease]));
  const clusters = Map.groupBy(profiles, (profile) => shardOf(profile, shardCount));
  const shown = [...Array(shardCount).keys()].filter((shard) => byShard.has(shard) || clusters.has(shard));
  return shown.map((shard): ShardRow => {
    const lease = byShard.get(shard);
    const holder = lease && holderOf(lease);
    const replica = holder === undefined ? undefined : bySession.get(holder);
    const renewed = replica?.spec?.renewTime;
    const endsAt = Date.parse(renewed ?? '') + ((replica && durationOf(replica)) ?? 0);
    return {
      fleet,
      shard,
      ...(holder === undefined ? {} : { owner: identityOf(holder) }),
      state: holder === undefined ? 'free' : endsAt > now ? 'held' : 'expired',
      ...(renewed === undefined ? {} : { renewed }),
      transitions: lease ? transitionsOf(lease) : 0,
      clusters: clusters.get(shard) ?? [],
    };
  });
}

function isLease(object: unknown): object is Lease {
  return textAt(object, 'metadata', 'name') !== undefined;
}
