import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  labelsOf,
  replicaAnnotations,
  replicaLeaseName,
  sessionName,
  shardLeaseName,
} from '../../../src/fleet/sharding/names.ts';
import { assertDocumented } from '../../fixtures/golden.ts';
import { startOperatedFleet } from '../../fixtures/operated-fleet.ts';
import { runProgram } from '../../fixtures/program.ts';

test('clusterprofile shards shows who owns each shard, since when, and its clusters', async (t) => {
  const { hub, env } = await startOperatedFleet(t);
  const lease = (name: string, role: 'shard' | 'replica', spec: object, annotations = {}) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: 'fleet-system', name, labels: labelsOf('fleet', role), annotations },
    spec: { leaseDurationSeconds: 30, leaseTransitions: 2, ...spec },
  });
  const session = (identity: string) => ({ holderIdentity: sessionName(identity, '0a1b', 1) });
  const replica = (identity: string, renewTime: string) =>
    lease(
      replicaLeaseName('fleet', identity),
      'replica',
      { ...session(identity), renewTime },
      replicaAnnotations({ identity, weight: 1 }),
    );
  const [held, expired] = ['fleet-controller-6c9f7d5b8-2xkqp', 'fleet-controller-6c9f7d5b8-9mz4t'];
  const renewed = new Date(Date.now() + 600_000).toISOString().replace('Z', '000Z');
  hub.add([
    replica(held, renewed),
    replica(expired, '2026-01-12T09:12:31.480000Z'),
    lease(shardLeaseName('fleet', 4), 'shard', session(held)),
    lease(shardLeaseName('fleet', 5), 'shard', session(held)),
    lease(shardLeaseName('fleet', 10), 'shard', session(expired)),
    lease(shardLeaseName('fleet', 12), 'shard', { holderIdentity: '' }),
  ]);
  const [table, json, none] = await Promise.all([
    runProgram(t, ['shards', '-n', 'fleet-system'], { env }),
    runProgram(t, ['shards', '-A', '-o', 'json'], { env }),
    runProgram(t, ['shards'], { env }),
  ]);
  assert.equal(table.stderr, '');
  assertDocumented(
    'clusterprofile shards -n fleet-system',
    `${table.stdout.replaceAll(renewed, '2026-01-12T09:14:05.120000Z')}\n`,
  );
  const { items } = JSON.parse(json.stdout);
  const states = items.map(({ owner = '', state }: { owner?: string; state: string }) => `${owner} ${state}`);
  assert.deepEqual(states.slice(0, 4), [`${held} held`, `${held} held`, `${expired} expired`, ' free']);
  // The rest has clusters and no Lease.
  assert.deepEqual(new Set(states.slice(4)), new Set([' free']));
  const clusters = items.flatMap((item: { clusters: string[] }) => item.clusters);
  assert.equal(new Set(clusters).size, 10);
  assert.match(none.stderr, /^error: there are no shards in namespace fleet\nhint: {2}give the namespace/);
  assert.equal(none.exitCode, 5);
});
