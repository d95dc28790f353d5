// 50 replicas that share 10,000 clusters, with the real code on a simulated hub: shares, moves, writes to Leases, time to compute.
import { assignShards } from '../../../src/fleet/sharding/assignment.ts';
import { shardCount } from '../../../src/fleet/sharding/hash.ts';
import { Sharding } from '../../../src/fleet/sharding/sharding.ts';
import { SimulatedHub } from '../../model/hub.ts';
import { Process, World } from '../../model/world.ts';
import { heading, report } from '../report.ts';

const replicas = 50;
const keys = Array.from({ length: 10_000 }, (_, index) => `fleet/cluster-${index}`);
const nothing = () => {};

function join(world: World, hub: SimulatedHub, identity: string) {
  const process = new Process(world, 1);
  const sharding = new Sharding({
    leases: hub.for(process),
    name: 'bench',
    identity,
    shards: shardCount,
    leaseDurationMs: 30_000,
    weight: 1,
    clock: process.clock,
    logger: { warn: nothing },
    observer: undefined,
    random: world.random,
  });
  const stop = new AbortController();
  void sharding.run({ changed: nothing }, stop.signal);
  return { sharding, leave: () => stop.abort() };
}

type Member = ReturnType<typeof join>;

/** By cluster, who works on it. */
function ownersOf(members: readonly Member[]): readonly number[] {
  return keys.map((key) => members.findIndex(({ sharding }) => sharding.ownerOf(key).mine));
}

export async function benchShards(): Promise<void> {
  heading(`${keys.length} clusters, ${replicas} replicas, 64 shards`);
  const world = new World(1);
  const hub = new SimulatedHub(world);
  let now = 0;
  const pass = (ms: number) => {
    now += ms;
    return world.until(now, nothing);
  };
  const members = Array.from({ length: replicas }, (_, index) => join(world, hub, `pod-${index}`));
  await pass(60_000);
  const shares = members.map(({ sharding }) => sharding.owned);
  report('shards of a replica, at least', Math.min(...shares), 'shards');
  report('shards of a replica, at most', Math.max(...shares), 'shards');
  const before = ownersOf(members);
  const clusters = members.map((_, index) => before.filter((owner) => owner === index).length);
  report('clusters without an owner', before.filter((owner) => owner < 0).length, 'clusters');
  report('clusters of a replica, at least', Math.min(...clusters), 'clusters');
  report('clusters of a replica, at most', Math.max(...clusters), 'clusters');
  const written = hub.writes;
  await pass(600_000);
  report('writes to Leases', (hub.writes - written) / 600, '/s');
  const one = join(world, hub, 'pod-new');
  await pass(30_000);
  const after = ownersOf([...members, one]);
  report('clusters that move when one comes', before.filter((owner, key) => owner !== after[key]).length, 'clusters');
  one.leave();
  await pass(30_000);
  const back = ownersOf(members);
  report(
    'clusters that are elsewhere when it has gone',
    before.filter((owner, key) => owner !== back[key]).length,
    'clusters',
  );
  const candidates = members.map((_, index) => `pod-${index}`);
  const start = performance.now();
  for (let round = 0; round < 100; round++) assignShards(candidates, 64);
  report('time to compute an assignment', (performance.now() - start) / 100, 'ms');
  report('shards that move in a rolling update of 3 replicas', rollingUpdate(3), 'of 64');
}

/** One new pod comes, one old pod goes, until all are new. */
function rollingUpdate(count: number): number {
  let moved = 0;
  const rounds = 50;
  for (let round = 0; round < rounds; round++) {
    let names = Array.from({ length: count }, (_, index) => `old-${round}-${index}`);
    const owners = () => assignShards(names, 64);
    let before = owners();
    const step = (next: readonly string[]) => {
      names = [...next];
      const after = owners();
      moved += before.filter((owner, shard) => owner !== after[shard]).length;
      before = after;
    };
    for (let index = 0; index < count; index++) {
      step([...names, `new-${round}-${index}`]);
      step(names.slice(1));
    }
  }
  return moved / rounds;
}
