/** Options of a fleet that shares its clusters with other replicas. */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { namespace, text } from '../../options/option-schemas.ts';
import { ApiServer } from '../../rest/api/api-server.ts';
import { isLabel } from '../../util/hosts.ts';
import { Informer } from '../informer/informer.ts';
import { type Lease, leaseKind, processName } from '../lease.ts';
import { Leases, leaseAdvice, leaseClient } from '../leases.ts';
import { type Ownership, ownsEverything } from '../membership/ownership.ts';
import type { fleetShape } from '../option-schemas.ts';
import type { Restart } from '../reflect/restart.ts';
import { leaseSelector, longestLeaseMs, shardCount, timingOf } from './names.ts';
import { Sharding, type ShardingOptions } from './sharding.ts';

/** Several replicas share a fleet: each works on a part of the clusters, and no two on the same one. */
export interface FleetShardingOptions {
  /** Of the hub: where the Leases are. */
  readonly namespace: string;
  /** Replicas with the same name share the fleet: a part of the Leases' names, lower case letters, digits and `-`. */
  readonly name: string;
  /** Names this replica in Leases, logs and listings; each has its own. Default: `POD_NAME`, or the host's name. */
  readonly identity?: string | undefined;
  /** 0: this replica takes no shards, and the others share all. Default: 1. */
  readonly weight?: 0 | 1 | undefined;
  /** Milliseconds, whole seconds, after which a dead replica is replaced: 3_000 to 600_000. Default: 30_000. */
  readonly leaseDurationMs?: number | undefined;
}

const whole = 'must be whole seconds in milliseconds, from 3_000 to 600_000: 30_000 for 30 s';
const isDuration = (value: unknown) =>
  typeof value === 'number' && value % 1_000 === 0 && value >= 3_000 && value <= longestLeaseMs;

/** @internal */
export const shardingSchema = z
  .strictObject(
    {
      namespace,
      name: z.string({ error: 'must be a name' }).refine(isLabel, {
        error: 'must be lower case letters, digits and -, 63 at most: it is a part of the names of Leases',
      }),
      identity: text('a text that no other replica has')
        .max(200, { error: 'has 200 characters at most' })
        .default(processName),
      weight: z.union([z.literal(0), z.literal(1)], { error: 'must be 0 or 1' }).default(1),
      leaseDurationMs: z.custom<number>(isDuration, { error: whole }).default(30_000),
    },
    { error: 'must be an object with namespace and name' },
  )
  .optional();

type ShardedSettings = z.output<z.ZodObject<typeof fleetShape & { readonly sharding: typeof shardingSchema }>>;

/** @internal Whose the clusters are, by the options of a fleet. */
export function ownershipOf({ sharding, hub, clock, logger, metrics }: ShardedSettings): Ownership {
  if (!sharding) return ownsEverything;
  const { namespace, leaseDurationMs, ...options } = sharding;
  const advice = leaseAdvice('get, list, watch, create, update and delete', namespace);
  const timing = timingOf(leaseDurationMs);
  const leases = new Leases(leaseClient(hub, namespace), { clock, limitMs: timing.requestTimeoutMs, advice });
  const server = new ApiServer(hub, clock);
  const observer = metrics?.observer;
  const context = {
    server,
    clock,
    logger,
    fields: { hub: server.url },
    reports: { observer, cluster: undefined },
    advice: ({ reason }: Restart) => (reason === 'forbidden' ? advice : ''),
  };
  const resource = { ...leaseKind, namespace, labelSelector: leaseSelector(options.name) };
  const watch: ShardingOptions['watch'] = (report, signal) => {
    new Informer<Lease>(resource, context, signal).subscribe(({ before, after, gone = before }) => {
      if (after) report(after, false);
      else if (gone) report(gone, true);
    });
  };
  const common = { clock, logger, observer, timing, leases, watch };
  const nonce = randomBytes(4).toString('hex');
  return new Sharding({ ...common, ...options, shards: shardCount, random: Math.random, nonce });
}
