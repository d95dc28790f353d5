/** What the program reads of API servers apart from profiles: objects, watches of them, and the Leases of a fleet's shards. */
import type { KubeconfigAccess } from '../access/kubeconfig.ts';
import { ApiError } from '../errors/index.ts';
import { systemClock } from '../fleet/clock.ts';
import { durationOf, holderOf, type Lease, transitionsOf } from '../fleet/lease.ts';
import type { ReflectorEvent } from '../fleet/reflect/events.ts';
import { type ReflectedResource, Reflector } from '../fleet/reflect/reflector.ts';
import { fleetOf, identityOf, isReplica, shardCount, shardOf, shardOfLease } from '../fleet/sharding/names.ts';
import { ApiServer } from '../rest/api/api-server.ts';
import type { KubernetesObject } from '../rest/api/kubernetes-object.ts';
import { ResourceClient } from '../rest/api/resource-client.ts';
import type { ResourceOptions } from '../rest/api/resource-options.ts';
import { parseKubeconfigOptions, toParts } from '../rest/from-kubeconfig.ts';
import { AuthenticatedDispatcher } from '../rest/request/dispatcher.ts';
import { ApiClient } from './api-client.ts';
import { textAt } from './profile.ts';

/** The longest answer in bytes: of single objects. */
const maxResponseBytes = 16 * 1024 * 1024;

/** Objects of a kind on this server. */
export type Api = (options: Omit<ResourceOptions, 'fieldValidation'>) => ResourceClient;

export function apiOf(client: ApiClient): Api {
  const { dispatcher } = client;
  const parts = { dispatcher, kinds: new ApiServer(client), maxResponseBytes };
  return (options) => new ResourceClient(parts, { ...options, fieldValidation: 'Strict' });
}

/** The status with which an API server refused. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof ApiError ? error.statusCode : undefined;
}

/** Calls `work` with the server of a context, and closes its connections. */
export async function withContext<T>(access: KubeconfigAccess, work: (client: ApiClient) => Promise<T>): Promise<T> {
  const { connections, destination, stop } = toParts(access, parseKubeconfigOptions({ logger: { warn: () => {} } }));
  const dispatcher = new AuthenticatedDispatcher(connections, destination);
  try {
    return await work(new ApiClient(dispatcher));
  } finally {
    await dispatcher.close();
    connections.retire(() => stop?.abort());
  }
}

/** Runs until the signal aborts: retries every failure with backoff, and passes it to `warn`. */
export function watchResource<T extends KubernetesObject>(
  client: ApiClient,
  resource: ReflectedResource,
  warn: (message: string) => void,
  signal: AbortSignal,
): AsyncIterable<readonly ReflectorEvent<T>[]> {
  const logger = { warn: (_fields: object, message: string) => warn(message) };
  const context = { server: new ApiServer(client, systemClock), clock: systemClock, logger, fields: {} };
  return new Reflector<T>(resource, context).run(signal);
}

/** One shard. `-o json` of the program has the same names, and leaves out what is `undefined`. */
export interface ShardRow {
  readonly fleet: string;
  readonly shard: number;
  /** The replica that owns it; `undefined` if none does. */
  readonly owner: string | undefined;
  /** By this machine's clock: `expired` if its owner has not renewed its own Lease in time, or has begun anew. */
  readonly state: 'held' | 'expired' | 'free';
  /** RFC 3339: when the owner renewed its own Lease last. */
  readonly renewed: string | undefined;
  /** How often it moved between replicas. */
  readonly transitions: number;
  /** ClusterProfiles in it, by `namespace/name`. */
  readonly clusters: readonly string[];
}

/** The Leases of each fleet, by its name. */
export function fleetsOf(found: readonly unknown[]): ReadonlyMap<string, readonly Lease[]> {
  const leases = found.filter((object): object is Lease => textAt(object, 'metadata', 'name') !== undefined);
  return Map.groupBy(leases, (lease) => fleetOf(lease) ?? '');
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
      owner: holder === undefined ? undefined : identityOf(holder),
      state: holder === undefined ? 'free' : endsAt > now ? 'held' : 'expired',
      renewed,
      transitions: lease ? transitionsOf(lease) : 0,
      clusters: clusters.get(shard) ?? [],
    };
  });
}
