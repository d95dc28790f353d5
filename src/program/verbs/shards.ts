/** `shards`: which replica works on which part of a fleet, from the Leases on the hub. */
import { durationOf, holderOf, type Lease, transitionsOf } from '../../fleet/lease/lease.ts';
import { shardCount, shardOf } from '../../fleet/sharding/hash.ts';
import { anyLeaseSelector, fleetOf, identityOf, isReplica, shardOfLease } from '../../fleet/sharding/names.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { textAt } from '../fields.ts';
import { openHub } from '../hub.ts';
import { printData } from '../print.ts';
import { clusterProfiles, leases as leaseResource } from '../resources.ts';
import { type Column, formatTable } from '../table.ts';
import type { Call } from '../verb.ts';

interface Row {
  readonly fleet: string;
  readonly shard: number;
  /** The replica that owns it; absent where none does. */
  readonly owner?: string;
  /** By this machine's clock: `expired` where its owner has not renewed its own Lease in time, or has begun anew. */
  readonly state: 'held' | 'expired' | 'free';
  /** RFC 3339: when the owner renewed its own Lease last. */
  readonly renewed?: string;
  /** How often it moved between replicas. */
  readonly transitions: number;
  /** ClusterProfiles in it, by `namespace/name`. */
  readonly clusters: readonly string[];
}

export async function run(call: Call): Promise<ExitCode> {
  const { options, terminal } = call;
  const hub = await openHub(call);
  const namespace = options.has('all-namespaces')
    ? undefined
    : (options.text('namespace') ?? hub.namespace ?? 'default');
  const found = await hub.list(leaseResource, namespace, { labelSelector: anyLeaseSelector });
  const fleets = Map.groupBy(found.filter(isLease), (lease) => fleetOf(lease) ?? '');
  const [asked] = call.args;
  if (fleets.size === 0 || (asked !== undefined && !fleets.has(asked))) {
    const where = namespace === undefined ? 'any namespace' : `namespace ${namespace}`;
    const names = [...fleets.keys()].join(', ');
    throw new Failure(
      exitCodes.notFound,
      asked === undefined ? `there are no shards in ${where}` : `there is no fleet ${asked} in ${where}`,
      names === ''
        ? 'give the namespace of the Leases with -n; a fleet has some where it has the option sharding'
        : `found: ${names}`,
    );
  }
  const profiles = (await hub.list(clusterProfiles, undefined)).map(
    (profile) => `${textAt(profile, 'metadata', 'namespace')}/${textAt(profile, 'metadata', 'name')}`,
  );
  const rows = [...fleets]
    .filter(([fleet]) => asked === undefined || fleet === asked)
    .flatMap(([fleet, leases]) => rowsOf(fleet, leases, profiles, Date.now()));
  if (await printData(call, () => ({ items: rows }))) return exitCodes.ok;
  const settings = { headers: !options.has('no-headers'), wide: options.text('output') === 'wide' };
  await terminal.write(formatTable(terminal, columns, rows, settings).text);
  return exitCodes.ok;
}

/** Of a fleet. A shard without a Lease is shown where it has clusters. */
function rowsOf(fleet: string, leases: readonly Lease[], profiles: readonly string[], now: number): readonly Row[] {
  const byShard = new Map(leases.map((lease) => [shardOfLease(fleet, lease), lease]));
  const replicas = leases.filter(isReplica);
  const bySession = new Map(replicas.map((lease) => [holderOf(lease), lease]));
  const clusters = Map.groupBy(profiles, (profile) => shardOf(profile, shardCount));
  const shown = [...Array(shardCount).keys()].filter((shard) => byShard.has(shard) || clusters.has(shard));
  return shown.map((shard): Row => {
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

const columns: readonly Column<Row>[] = [
  { title: 'FLEET', value: ({ fleet }) => fleet },
  { title: 'SHARD', value: ({ shard }) => String(shard) },
  { title: 'OWNER', value: ({ owner }) => owner ?? '' },
  {
    title: 'STATE',
    value: ({ state }) => state,
    style: ({ state }) => (state === 'held' ? 'green' : 'yellow'),
  },
  { title: 'RENEWED', value: ({ renewed }) => renewed ?? '' },
  { title: 'CLUSTERS', value: ({ clusters }) => String(clusters.length) },
  { title: 'MOVES', wide: true, value: ({ transitions }) => String(transitions) },
  { title: 'NAMES', wide: true, value: ({ clusters }) => clusters.join(',') },
];

function isLease(object: unknown): object is Lease {
  return textAt(object, 'metadata', 'name') !== undefined;
}
