/** Schedules of the model: who starts when, and what befalls whom. A schedule and its seed say all that happens. */
import { Membership } from '../../src/fleet/membership/membership.ts';
import { identityOf } from '../../src/fleet/sharding/names.ts';
import { fc } from '../fixtures/property.ts';
import { SimulatedHub, type Weather } from './hub.ts';
import { Replica, type Wanted } from './replica.ts';
import { Process, World } from './world.ts';

type Drawn<A> = A extends fc.Arbitrary<infer T> ? T : never;

/** Clocks run at most so much too fast or too slow. */
const drift = 0.1;
const faultsEndMs = 100_000;
/** After the faults each cluster has an owner at the latest after this time: what is late comes, then the dead expire, then their shards. */
const recoveryMs = 140_000;
const keys = ['a', 'b', 'c', 'd', 'e', 'f'];

const who = fc.nat(3);
const at = fc.oneof(fc.nat(faultsEndMs), fc.nat(10_000));
const ms = fc.oneof(fc.nat(10_000), fc.nat(45_000));
const fault = fc.oneof(
  { weight: 3, arbitrary: fc.record({ what: fc.constant('pause' as const), at, who, ms }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('kill' as const), at, who }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('leave' as const), at, who }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('start' as const), at, who }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('away' as const), at, ms }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('cut off' as const), at, who, ms }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom('mute' as const, 'behind' as const), at, who, ms }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('delete' as const), at, which: fc.nat(20) }) },
);

const schedules = fc.record({
  seed: fc.nat(2 ** 31 - 1),
  weather: fc.record({
    delayMs: fc.constantFrom(20, 200, 1_000, 3_000),
    late: fc.constantFrom(0, 0.02, 0.1),
    lost: fc.constantFrom(0, 0.05, 0.2),
    repeated: fc.constantFrom(0, 0.1),
  }),
  replicas: fc.array(
    fc.record({
      startMs: fc.constantFrom(0, 0, 500, 5_000),
      drift: fc.constantFrom(-drift, 0, drift),
      drainMs: fc.constantFrom(0, 1_000, 10_000, 20_000),
      weight: fc.constantFrom(1 as const, 1 as const, 1 as const, 1 as const, 0 as const),
    }),
    { minLength: 2, maxLength: 4 },
  ),
  faults: fc.array(fault, { maxLength: 8 }),
});

type Schedule = Drawn<typeof schedules>;

const calm = { delayMs: 20, late: 0, lost: 0, repeated: 0 } as const;
const slow = { ...calm, delayMs: 1_000 } as const;
const replica = { startMs: 0, drift: 0, drainMs: 20_000, weight: 1 } as const;
const late: Schedule['faults'] = [
  { what: 'mute', at: 3_000, who: 0, ms: 30_000 },
  { what: 'behind', at: 25_000, who: 0, ms: 25_000 },
  { what: 'behind', at: 25_000, who: 1, ms: 25_000 },
];

/** Seldom found by chance, and each survived by one safeguard alone, with these seeds. */
const special: readonly (Omit<Schedule, 'seed'> & { readonly seeds: readonly number[] })[] = [
  // A process takes the place of one that lives, whose Lease is deleted, which it does not know yet: only those of its shards name it.
  {
    seeds: [1, 2, 3],
    weather: calm,
    replicas: [replica, { ...replica, startMs: 500 }],
    faults: [
      { what: 'behind', at: 8_000, who: 0, ms: 20_000 },
      { what: 'delete', at: 8_900, which: 0 },
      { what: 'start', at: 9_000, who: 0 },
    ],
  },
  // The second one reads a new fleet, and is cut off before it has written its Lease. It is back when those of shards are deleted.
  {
    seeds: [1, 2, 6, 7],
    weather: calm,
    replicas: [replica, replica],
    faults: [
      { what: 'cut off', at: 22, who: 1, ms: 30_000 },
      { what: 'behind', at: 0, who: 1, ms: 60_000 },
      { what: 'behind', at: 29_000, who: 0, ms: 20_000 },
      ...[1, 1, 1].map((which) => ({ what: 'delete' as const, at: 30_000, which })),
    ],
  },
  // The first one renews its Lease after 30 s, at the moment when the second one takes its shards. Neither sees that the other one lives.
  { seeds: [1, 3, 4, 5, 6, 7, 17, 23, 27, 30], weather: slow, replicas: [replica, replica], faults: late },
  // The same, and its Lease is deleted then.
  {
    seeds: [0, 4, 8, 19, 30],
    weather: slow,
    replicas: [replica, replica],
    faults: [...late, { what: 'delete', at: 34_500, which: 1 }],
  },
  // The Lease of a shard is deleted, which no watch tells its owner, and a replica joins that waits until all know it.
  {
    seeds: [3, 4, 7, 11],
    weather: calm,
    replicas: [replica, { ...replica, startMs: 5_000 }],
    faults: [
      { what: 'kill', at: 5_001, who: 1 },
      { what: 'behind', at: 38_000, who: 0, ms: 45_000 },
      { what: 'delete', at: 40_000, which: 2 },
      { what: 'start', at: 41_000, who: 1 },
    ],
  },
  // A shard is released for the second one, which leaves meanwhile. The release comes late, and no watch tells of it.
  {
    seeds: [1117],
    weather: { ...calm, late: 0.1 },
    replicas: [
      { ...replica, drainMs: 0 },
      { ...replica, drainMs: 0, startMs: 5_000 },
    ],
    faults: [
      { what: 'leave', at: 8_000, who: 1 },
      { what: 'start', at: 12_000, who: 1 },
      { what: 'behind', at: 11_000, who: 0, ms: 45_000 },
    ],
  },
];

const rare: readonly Schedule[] = special.flatMap(({ seeds, ...schedule }) =>
  seeds.map((seed) => ({ ...schedule, seed })),
);

/** Milliseconds, a third of a Lease's duration: a hub that is away for less changes nothing. */
const promisedMs = 10_000;
const calmMs = 60_000;

interface Simulated {
  readonly seed: number;
  readonly replicas: number;
  readonly drainMs?: number;
  readonly weather: Weather;
}

/** A world with a hub and so many replicas. */
function simulate({ seed, replicas, drainMs = 0, weather }: Simulated) {
  const world = new World(seed);
  const hub = new SimulatedHub(world, weather);
  const all: Replica[] = [];
  const start = () => {
    const options = { identity: `replica-${all.length}`, weight: 1, drainMs } as const;
    all.push(new Replica(new Process(world, 1), hub, options, keys));
  };
  for (let i = 0; i < replicas; i++) start();
  /** Throws where a cluster has no owner. */
  const checkOwned = (when: string) => {
    const alone = keys.filter((key) => !all.some((replica) => replica.mayCall(key)));
    if (alone.length > 0) throw new Error(`no replica may call ${alone} ${when}, at ${world.now} ms`);
  };
  return { world, hub, all, start, checkOwned };
}

/** Nothing happens but that replicas leave in order, and that each gets another in its place. */
const departures = fc.record({
  seed: fc.nat(2 ** 31 - 1),
  delayMs: fc.constantFrom(20, 200, 1_000),
  replicas: fc.integer({ min: 2, max: 4 }),
  drainMs: fc.constantFrom(0, 10_000),
  leaves: fc.array(fc.record({ who, at: fc.nat(60_000) }), { minLength: 1, maxLength: 4 }),
});

/** Throws where one that has left holds anything, so that others have to wait until it expires. */
async function depart({ delayMs, leaves, ...given }: Drawn<typeof departures>): Promise<void> {
  const { world, hub, all, start, checkOwned } = simulate({ ...given, weather: { ...calm, delayMs } });
  for (const leave of leaves) {
    world.in(leave.at, () => {
      start();
      all[leave.who % all.length]?.leave();
    });
  }
  await world.until(100_000, () => {
    const gone = all.filter(({ hasLeft }) => hasLeft).map(({ options }) => options.identity);
    const held = hub.holders.filter((holder) => gone.includes(identityOf(holder)));
    if (held.length > 0) throw new Error(`${held[0]} has left, and still has a Lease at ${world.now} ms`);
  });
  checkOwned('in the end');
}

/** Nothing happens but that the hub is away once, for any time, or one replica is cut off. */
const absences = fc.record({
  seed: fc.nat(2 ** 31 - 1),
  delayMs: fc.constantFrom(20, 100),
  replicas: fc.integer({ min: 1, max: 4 }),
  who: fc.option(who, { freq: 2 }),
  at: fc.integer({ min: calmMs, max: calmMs + 30_000 }),
  ms: fc.oneof(fc.nat(promisedMs - 1), fc.integer({ min: promisedMs - 500, max: promisedMs - 1 })),
  /** How much longer the hub is away where it is not one replica that is cut off. */
  moreMs: fc.oneof(fc.constant(0), fc.nat(60_000)),
});

/**
 * Throws where the owner of a cluster is another one at any moment since all have one. While the hub is away for longer than promised,
 * a cluster may have none.
 */
async function outlast({ delayMs, who, at, ms: shortMs, moreMs, ...given }: Drawn<typeof absences>): Promise<void> {
  const ms = who === null ? shortMs + moreMs : shortMs;
  const { world, hub, all } = simulate({ ...given, weather: { ...calm, delayMs } });
  const owners = () => keys.map((key) => all.findIndex((replica) => replica.mayCall(key)));
  await world.until(calmMs, () => {});
  const before = owners();
  if (before.includes(-1)) throw new Error(`a cluster has no owner ${calmMs} ms after the start: ${before}`);
  world.in(at - calmMs, () => {
    const alone = who === null ? undefined : all[who % all.length];
    if (alone) hub.cutOff(alone.process, ms);
    else hub.goAway(ms);
  });
  const end = at + ms + 60_000;
  await world.until(end, () => {
    const isLong = ms >= promisedMs && world.now < end - 30_000;
    const isAnother = owners().some((owner, key) => owner !== before[key] && !(isLong && owner === -1));
    if (isAnother) throw new Error(`${before} became ${owners()} at ${world.now} ms`);
  });
}

/** A hub whose every answer takes its time, and for a while much longer. It does all that it is asked for. */
const latencies = fc.record({
  seed: fc.nat(2 ** 31 - 1),
  replicas: fc.integer({ min: 1, max: 3 }),
  answerMs: fc.constantFrom(100, 1_500, 1_800, 2_000, 3_000, 4_000, 6_000, 8_000),
  /** No watch shows anything from the hiccup on: what an answer brings is all that is known. */
  isBehind: fc.boolean(),
  hiccup: fc.record({ answerMs: fc.constantFrom(8_000, 12_000, 25_000), ms: fc.constantFrom(12_000, 40_000) }),
});

/** Throws where a cluster has no owner while a single request ends within a third of a Lease's duration, or soon after it did not. */
async function endure({ answerMs, isBehind, hiccup, ...given }: Drawn<typeof latencies>): Promise<void> {
  // A request and its answer.
  const of = (ms: number) => ({ ...calm, delayMs: 10, leastMs: ms / 2 });
  const { world, hub, all, checkOwned } = simulate({ ...given, weather: of(answerMs) });
  const check = (when: string) => () => checkOwned(when);
  const startMs = 120_000;
  await world.until(startMs, () => {});
  await world.until(startMs + 60_000, check('while the hub is as slow as always'));
  hub.weather = of(hiccup.answerMs);
  if (isBehind) for (const { process } of all) hub.fallBehind(process, hiccup.ms + 150_000);
  await world.until(world.now + hiccup.ms, hiccup.answerMs > 8_000 ? () => {} : check('while the hub is slower'));
  hub.weather = of(answerMs);
  await world.until(world.now + 90_000, hiccup.answerMs > 8_000 ? () => {} : check('after the hub was slower'));
  await world.until(world.now + 60_000, check('long after the hub was slower'));
}

/** Clusters that have several profiles, which come, go and turn out to be of another cluster. Each replica sees it in its own time. */
const inventories = fc.record({
  seed: fc.nat(2 ** 31 - 1),
  replicas: fc.integer({ min: 2, max: 4 }),
  lagMs: fc.constantFrom(20, 2_000, 15_000),
  changes: fc.array(
    fc.record({ at: fc.nat(240_000), profile: fc.nat(5), cluster: fc.option(fc.nat(1), { freq: 3 }) }),
    { minLength: 2, maxLength: 12 },
  ),
});

type Inventory = Drawn<typeof inventories>;

/** Throws where two replicas may work on one cluster at once, or in the end none does. */
async function publish({ seed, replicas, lagMs, changes }: Inventory): Promise<void> {
  const world = new World(seed);
  const hub = new SimulatedHub(world, calm);
  const clusters = ['0', '1'];
  const all = Array.from({ length: replicas }, (_, index) => {
    const process = new Process(world, 1);
    const membership: Membership = new Membership({
      select: () => true,
      identify: ({ metadata }) => metadata.labels?.cluster ?? '',
      // Replicas of two releases know other providers.
      resolves: ({ metadata: { name } }) => (name.length + index) % 2 === 0,
      ownerOf: (key) => replica.sharding.ownerOf(key),
      uptime: () => process.clock.uptime(),
    });
    const names = new Set<string>();
    const wanted = (cluster: string) => {
      const verdicts = [...names].flatMap((name) => membership.verdict(name) ?? []);
      return verdicts.find((verdict) => verdict.engage && verdict.key === cluster) as Wanted | undefined;
    };
    const options = { identity: `replica-${index}`, weight: 1, drainMs: 10_000 } as const;
    const replica: Replica = new Replica(process, hub, options, clusters, wanted);
    return { replica, membership, names, seenAt: 0 };
  });
  const there = new Map<string, { readonly creationTimestamp: string; readonly cluster: number }>();
  for (const { at, profile, cluster } of changes) {
    world.in(calmMs + at, () => {
      const name = `p${'x'.repeat(profile)}`;
      const { creationTimestamp } = there.get(name) ?? {
        creationTimestamp: new Date(1_700_000_000_000 + Math.floor(world.now / 1_000) * 1_000).toISOString(),
      };
      if (cluster === null) there.delete(name);
      else there.set(name, { creationTimestamp, cluster });
      const metadata = { namespace: 'fleet', name, uid: creationTimestamp, resourceVersion: '1', creationTimestamp };
      const object = {
        apiVersion: 'x/v1',
        kind: 'ClusterProfile',
        metadata: { ...metadata, labels: { cluster: String(cluster) } },
      };
      for (const one of all) {
        // In their order.
        one.seenAt = Math.max(one.seenAt, world.now + lagMs * world.random());
        world.in(one.seenAt - world.now, () => {
          if (cluster === null) one.membership.delete(name);
          else one.membership.set(name, object);
          if (cluster === null) one.names.delete(name);
          else one.names.add(name);
          one.replica.look();
        });
      }
    });
  }
  const callers = (cluster: string) => all.filter(({ replica }) => replica.mayCall(cluster));
  await world.until(calmMs + 240_000 + 90_000, () => {
    for (const cluster of clusters)
      if (callers(cluster).length > 1) throw new Error(`two replicas may call cluster ${cluster} at ${world.now} ms`);
  });
  for (const cluster of new Set([...there.values()].map((one) => String(one.cluster))))
    if (callers(cluster).length === 0) throw new Error(`no replica may call cluster ${cluster} in the end`);
}

/** Runs a schedule with the real code. Throws where two replicas may call one cluster at once, or one has no owner in the end. */
async function play({ seed, weather, replicas, faults }: Schedule): Promise<void> {
  const world = new World(seed);
  const hub = new SimulatedHub(world, weather);
  hub.areCreationsPunctual = faults.some(({ what }) => what === 'delete');
  const all: Replica[] = [];
  const current = new Map<number, Replica>();
  const start = (index: number, { drainMs, drift: off, weight }: Omit<Schedule['replicas'][number], 'startMs'>) => {
    const options = { identity: `replica-${index}`, weight, drainMs };
    const replica = new Replica(new Process(world, 1 + off), hub, options, keys);
    current.set(index, replica);
    all.push(replica);
  };
  const placeOf = (index: number) => index % replicas.length;
  const settings = (index: number) => replicas[placeOf(index)] ?? replica;
  for (const [index, replica] of replicas.entries()) world.in(replica.startMs, () => start(index, replica));
  for (const fault of faults) {
    world.in(fault.at, () => {
      const replica = 'who' in fault ? current.get(placeOf(fault.who)) : undefined;
      const process = replica?.process;
      const ms = 'ms' in fault ? Math.min(fault.ms, faultsEndMs - fault.at) : 0;
      const acts: Readonly<Record<typeof fault.what, () => unknown>> = {
        pause: () => {
          process?.pause();
          world.in(ms, () => process?.resume());
        },
        kill: () => process?.kill(),
        leave: () => replica?.leave(),
        // Where the one before lives still, two have the same name.
        start: () => 'who' in fault && start(placeOf(fault.who), settings(fault.who)),
        away: () => hub.goAway(ms),
        'cut off': () => process && hub.cutOff(process, ms),
        mute: () => process && hub.mute(process, ms),
        behind: () => process && hub.fallBehind(process, ms),
        delete: () => 'which' in fault && hub.deleteByHand(fault.which),
      };
      acts[fault.what]();
    });
  }
  const callers = (key: string) => all.filter((replica) => replica.mayCall(key));
  const check = () => {
    for (const key of keys) {
      const owners = callers(key);
      if (owners.length > 1) {
        const names = owners.map(({ options }) => options.identity).join(' and ');
        throw new Error(`${names} may both call cluster ${key} at ${world.now} ms`);
      }
    }
  };
  await world.until(faultsEndMs, check);
  hub.weather = calm;
  await world.until(faultsEndMs + recoveryMs, check);
  const alive = all.filter(({ process, hasLeft }) => process.isRunning && !hasLeft);
  // Where one wants no shards, those that do may be left out: another process may have their name.
  const areAble = alive.length > 0 && alive.every(({ options }) => options.weight > 0);
  const alone = keys.filter((key) => callers(key).length === 0);
  if (areAble && alone.length > 0)
    throw new Error(`no replica may call ${alone.join()} ${recoveryMs} ms after the faults`);
}

/** A cluster is published anew under another name, which one replica sees before the other has let it go. */
const renamed: Inventory = {
  seed: 0,
  replicas: 2,
  lagMs: 20,
  changes: [
    { at: 0, profile: 0, cluster: 0 },
    { at: 0, profile: 0, cluster: null },
    { at: 0, profile: 3, cluster: 0 },
  ],
};

/** The hub is back while a renewal that it never saw is still waited for, by a replica that may send nothing any more. */
const awaited: Drawn<typeof absences> = {
  seed: 0,
  delayMs: 20,
  replicas: 2,
  who: null,
  at: 77_451,
  ms: 4_058,
  moreMs: 11_770,
};

/** `few`: how many random schedules `npm test` plays, beside the examples. */
const promise = <T>(
  title: string,
  few: number,
  arbitrary: fc.Arbitrary<T>,
  act: (given: T) => Promise<void>,
  examples: readonly T[] = [],
) => ({
  title,
  few: few + examples.length,
  /** Rejects with the smallest schedule that breaks it. */
  check: (parameters: { readonly numRuns: number; readonly seed?: number }) =>
    fc.assert(fc.asyncProperty(arbitrary, act), { ...parameters, examples: examples.map((example) => [example]) }),
});

/** What is promised, whatever happens. */
export const promises = [
  promise(
    'whatever happens to replicas, hub and network, two never own one shard, and each shard gets an owner again',
    15,
    schedules,
    play,
    rare,
  ),
  promise('a hub that is away for less than ten seconds changes nothing, whenever that is', 40, absences, outlast, [
    awaited,
  ]),
  promise('replicas that leave release all that they have, and others take it', 50, departures, depart),
  promise(
    'a hub that does all it is asked for, and answers late, changes nothing while a request takes less than a third of a Lease',
    30,
    latencies,
    endure,
  ),
  promise(
    'clusters whose profiles come and go, and change their IDs, have one replica at a time, and one in the end',
    40,
    inventories,
    publish,
    [renamed],
  ),
];
