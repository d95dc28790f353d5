/** `shards`: which replica works on which part of a fleet, from the Leases on the hub. */
import { anyLeaseSelector, fleetsOf, type ShardRow, shardsOf, textAt } from '../../diagnose/index.ts';
import { type ExitCode, exitCodes, Failure } from '../failure.ts';
import { openHub } from '../hub.ts';
import { homeOf } from '../profiles.ts';
import { clusterProfiles, leases as leaseResource } from '../resources.ts';
import { type Column, formatTable, print, tableOptions } from '../table.ts';
import type { Call } from '../verb.ts';

export async function run(call: Call): Promise<ExitCode> {
  const hub = await openHub(call);
  const namespace = await homeOf(call);
  const found = await hub.list(leaseResource, namespace, { labelSelector: anyLeaseSelector });
  const fleets = fleetsOf(found);
  if (fleets.size === 0) {
    const where = namespace === undefined ? 'any namespace' : `namespace ${namespace}`;
    const how = 'give the namespace of the Leases with -n; a fleet has some where it has the option sharding';
    throw Failure.notFound(`there are no shards in ${where}`, how);
  }
  const profiles = (await hub.list(clusterProfiles, undefined)).map(
    (profile) => `${textAt(profile, 'metadata', 'namespace')}/${textAt(profile, 'metadata', 'name')}`,
  );
  const rows = [...fleets].flatMap(([fleet, leases]) => shardsOf(fleet, leases, profiles, Date.now()));
  await print(call, { items: rows }, () => formatTable(call.terminal, columns, rows, tableOptions(call)).text);
  return exitCodes.ok;
}

const columns: readonly Column<ShardRow>[] = [
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
