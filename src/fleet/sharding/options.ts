/** How a fleet is told to share its clusters with other replicas. */
import { z } from 'zod';
import { isFunction } from '../../argument.ts';
import { isLabel } from '../../kubernetes-names.ts';
import { ApiServer } from '../api-server.ts';
import { ask } from '../guard.ts';
import { processName } from '../lease/identity.ts';
import { type Ownership, ownsEverything } from '../membership/ownership.ts';
import { type fleetShape, namespace, text } from '../option-schemas.ts';
import { HubLeases } from './lease-source.ts';
import { leaseSelector, maxWeight } from './names.ts';
import { Sharding } from './sharding.ts';
import { longestLeaseMs } from './timing.ts';

/** Several replicas share a fleet: each works on a part of the clusters, and no two on the same one. */
export interface FleetShardingOptions {
  /** Of the hub: where the Leases are. */
  readonly namespace: string;
  /** Replicas with the same name share the fleet: a part of the Leases' names, lower case letters, digits and `-`. */
  readonly name: string;
  /** Names this replica in Leases, logs and listings; each has its own. Default: `POD_NAME`, or the host's name. */
  readonly identity?: string;
  /** Its share compared with that of others, from 0 (none) to 1,000. A function is asked at each renewal. Default: 1. */
  readonly weight?: number | (() => number);
  /** How many parts the fleet has, the same for all replicas, and for ever. Default: 64. */
  readonly shards?: number;
  /** Milliseconds, whole seconds, after which a replica that is dead is replaced; 600_000 at most. Default: 30_000. */
  readonly leaseDurationMs?: number;
}

const isWeight = (value: unknown) => typeof value === 'number' && value >= 0 && value <= maxWeight;
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
      weight: z
        .custom<number | (() => number)>((value) => isWeight(value) || isFunction(value), {
          error: `must be a number from 0 to ${maxWeight}, or a function that returns one`,
        })
        .default(1),
      shards: z
        .int({ error: 'must be a whole number from 1 to 4096' })
        .min(1, { error: 'must be a whole number from 1 to 4096' })
        .max(4_096, { error: 'must be a whole number from 1 to 4096' })
        .default(64),
      leaseDurationMs: z.custom<number>(isDuration, { error: whole }).default(30_000),
    },
    { error: 'must be an object with namespace and name' },
  )
  .optional();

/** What it takes of a fleet's options. */
interface ShardedSettings extends z.output<z.ZodObject<typeof fleetShape>> {
  readonly sharding?: z.output<typeof shardingSchema>;
}

/** @internal Whose the clusters are, by the options of a fleet. */
export function ownershipOf({ sharding, hub, clock, logger, metrics }: ShardedSettings): Ownership {
  if (!sharding) return ownsEverything;
  const { namespace, name, identity, weight, shards, leaseDurationMs } = sharding;
  const observer = metrics?.observer;
  const leases = new HubLeases(new ApiServer(hub), {
    namespace,
    selector: leaseSelector(name),
    clock,
    logger,
    observer,
  });
  let last = 1;
  const ownership = new Sharding({
    leases,
    name,
    identity,
    shards,
    leaseDurationMs,
    clock,
    logger,
    observer,
    random: Math.random,
    weight: () => {
      last = typeof weight === 'number' ? weight : (ask(logger, { fleet: name }, 'weight', weight, readWeight) ?? last);
      return last;
    },
  });
  metrics?.shares({ owned: () => ownership.owned, peers: () => ownership.peers });
  return ownership;
}

function readWeight(value: unknown): number {
  if (isWeight(value)) return Number(value);
  throw new TypeError(`it returned ${String(value)}: it must be a number from 0 to ${maxWeight}`);
}
