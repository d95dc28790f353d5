/** What the model promises: whatever happens, and where one thing alone happens. */
import { Membership } from '../../src/fleet/membership/membership.ts';
import { identityOf } from '../../src/fleet/sharding/names.ts';
import { fc } from '../fixtures/property.ts';
import { SimulatedHub, type Weather } from './hub.ts';
import { Replica, type Wanted } from './replica.ts';
import { calm, type Drawn, keys, play, rare, schedules, who } from './schedule.ts';
import { Process, World } from './world.ts';

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

/** `few`: how many random schedules `npm test -- --kind load` plays, beside the examples. */
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
    5,
    schedules,
    play,
    rare,
  ),
  promise('a hub that is away for less than ten seconds changes nothing, whenever that is', 30, absences, outlast, [
    awaited,
  ]),
  promise('replicas that leave release all that they have, and others take it', 15, departures, depart),
  promise(
    'a hub that does all it is asked for, and answers late, changes nothing while a request takes less than a third of a Lease',
    10,
    latencies,
    endure,
  ),
  promise(
    'clusters whose profiles come and go, and change their IDs, have one replica at a time, and one in the end',
    12,
    inventories,
    publish,
    [renamed],
  ),
];
