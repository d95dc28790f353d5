/** Schedules of the model: who starts when, and what befalls whom. A schedule and its seed say all that happens. */
import fc from 'fast-check';
import { SimulatedHub } from './hub.ts';
import { Replica } from './replica.ts';
import { Process, World } from './world.ts';

/** Clocks run at most so much too fast or too slow. */
export const drift = 0.1;
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
  {
    weight: 3,
    arbitrary: fc.record({ what: fc.constant('start' as const), at, who, shards: fc.constantFrom(4, 4, 4, 5) }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('away' as const), at, ms }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('cut off' as const), at, who, ms }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom('mute' as const, 'behind' as const), at, who, ms }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('delete' as const), at, which: fc.nat(20) }) },
);

export const schedules = fc.record({
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
      shards: fc.constantFrom(4, 4, 4, 4, 4, 5),
      weight: fc.constantFrom(1 as const, 1 as const, 1 as const, 1 as const, 0 as const),
    }),
    { minLength: 2, maxLength: 4 },
  ),
  faults: fc.array(fault, { maxLength: 8 }),
});

export type Schedule = typeof schedules extends fc.Arbitrary<infer T> ? T : never;

const calm = { delayMs: 20, late: 0, lost: 0, repeated: 0 } as const;
const replica = { startMs: 0, drift: 0, drainMs: 20_000, shards: 4, weight: 1 } as const;
const another = { ...replica, startMs: 500, shards: 5 } as const;

/** Seldom found by chance, and each survived by one safeguard alone. In some of them, two replicas have different numbers of shards. */
export const rare: readonly Schedule[] = [
  // The watch of the later one has not reported the first: before it joins it reads all Leases.
  { seed: 1, weather: calm, replicas: [replica, another], faults: [{ what: 'behind', at: 500, who: 1, ms: 10_000 }] },
  // A process takes the place of one that lives, whose Lease is deleted, which it does not know yet: only those of its shards name it.
  {
    seed: 1,
    weather: calm,
    replicas: [replica, { ...replica, startMs: 500 }],
    faults: [
      { what: 'behind', at: 8_000, who: 0, ms: 20_000 },
      { what: 'delete', at: 8_900, which: 0 },
      { what: 'start', at: 9_000, who: 0, shards: 4 },
    ],
  },
  // The second one reads a new fleet, and is cut off before it has written its Lease. It is back when those of shards are deleted.
  {
    seed: 1,
    weather: calm,
    replicas: [replica, replica],
    faults: [
      { what: 'cut off', at: 22, who: 1, ms: 30_000 },
      { what: 'behind', at: 0, who: 1, ms: 60_000 },
      { what: 'behind', at: 29_000, who: 0, ms: 20_000 },
      ...[1, 1, 1].map((which) => ({ what: 'delete' as const, at: 30_000, which })),
    ],
  },
  // Both read a new fleet, and the Lease of the first one is deleted, which has another number of shards.
  {
    seed: 1879048178,
    weather: { ...calm, late: 0.1, lost: 0.2 },
    replicas: [
      { ...replica, drift: -drift, drainMs: 0, shards: 5 },
      { ...replica, drift: -drift, drainMs: 0 },
    ],
    faults: [
      { what: 'delete', at: 141, which: 0 },
      { what: 'delete', at: 58, which: 3 },
    ],
  },
  // The first one renews its Lease after 30 s, at the moment when the second one takes its shards.
  {
    seed: 8,
    weather: { ...calm, delayMs: 1_000 },
    replicas: [replica, replica],
    faults: [
      { what: 'mute', at: 3_000, who: 0, ms: 29_000 },
      { what: 'behind', at: 29_000, who: 0, ms: 20_000 },
    ],
  },
  // The first one has lost its own Lease and still holds those of its shards, on which work ends slowly: its terms are over.
  { seed: 1, weather: calm, replicas: [replica, another], faults: [{ what: 'mute', at: 400, who: 0, ms: 60_000 }] },
];

/** Milliseconds, a third of a Lease's duration: a hub that is away for less changes nothing. */
const promisedMs = 10_000;
const calmMs = 60_000;

/** Nothing happens but that the hub is away once, for any time, or one replica is cut off. */
export const absences = fc.record({
  seed: fc.nat(2 ** 31 - 1),
  delayMs: fc.constantFrom(20, 100),
  replicas: fc.integer({ min: 1, max: 4 }),
  who: fc.option(who),
  at: fc.integer({ min: calmMs, max: calmMs + 30_000 }),
  ms: fc.oneof(fc.nat(promisedMs - 1), fc.integer({ min: promisedMs - 500, max: promisedMs - 1 })),
  /** How much longer the hub is away where it is not one replica that is cut off. */
  moreMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(60_000) }),
});

type Absence = typeof absences extends fc.Arbitrary<infer T> ? T : never;

/**
 * Throws where the owner of a cluster is another one at any moment since all have one. While the hub is away for longer than promised,
 * a cluster may have none.
 */
export async function outlast({ seed, delayMs, replicas, who, at, ms: shortMs, moreMs }: Absence): Promise<void> {
  const ms = who === null ? shortMs + moreMs : shortMs;
  const world = new World(seed);
  const hub = new SimulatedHub(world);
  hub.weather = { ...calm, delayMs };
  const all = Array.from({ length: replicas }, (_, index) => {
    const options = { identity: `replica-${index}`, shards: 4, weight: 1, drainMs: 0 } as const;
    return new Replica(new Process(world, 1), hub, options, keys);
  });
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

export interface Outcome {
  /** Milliseconds after the faults in which the last cluster got its owner; `undefined` where all replicas have gone. */
  readonly recoveredMs: number | undefined;
  readonly writes: number;
}

/** Runs a schedule with the real code. Throws where two replicas may call one cluster at once, or one has no owner in the end. */
export async function play({ seed, weather, replicas, faults }: Schedule): Promise<Outcome> {
  const world = new World(seed);
  const hub = new SimulatedHub(world);
  hub.weather = weather;
  hub.areCreationsPunctual = faults.some(({ what }) => what === 'delete');
  const all: Replica[] = [];
  const current = new Map<number, Replica>();
  const start = (
    index: number,
    { shards, drainMs, drift: off, weight }: Omit<Schedule['replicas'][number], 'startMs'>,
  ) => {
    const options = { identity: `replica-${index}`, shards, weight, drainMs };
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
      switch (fault.what) {
        case 'pause':
          replica?.process.pause();
          world.in(Math.min(fault.ms, faultsEndMs - fault.at), () => replica?.process.resume());
          break;
        case 'kill':
          replica?.process.kill();
          break;
        case 'leave':
          replica?.leave();
          break;
        case 'start': {
          // Where the one before lives still, two have the same name.
          start(placeOf(fault.who), { ...settings(fault.who), shards: fault.shards });
          break;
        }
        case 'away':
          hub.goAway(Math.min(fault.ms, faultsEndMs - fault.at));
          break;
        case 'cut off':
          if (replica) hub.cutOff(replica.process, Math.min(fault.ms, faultsEndMs - fault.at));
          break;
        case 'mute':
          if (replica) hub.mute(replica.process, Math.min(fault.ms, faultsEndMs - fault.at));
          break;
        case 'behind':
          if (replica) hub.fallBehind(replica.process, Math.min(fault.ms, faultsEndMs - fault.at));
          break;
        case 'delete':
          hub.deleteByHand(fault.which);
      }
    });
  }
  const callers = (key: string) => all.filter((replica) => replica.mayCall(key));
  const check = () => {
    for (const key of keys) {
      let engaged = 0;
      for (const replica of all) if (replica.hasEngaged(key)) engaged += 1;
      if (engaged < 2) continue;
      const owners = callers(key);
      if (owners.length > 1) {
        const names = owners.map(({ options }) => `${options.identity} (${options.shards} shards)`).join(' and ');
        throw new Error(`${names} may both call cluster ${key} at ${world.now} ms`);
      }
    }
  };
  await world.until(faultsEndMs, check);
  hub.calmDown();
  // Where one wants no shards, those that do may be left out: another process may have their name.
  const able = () => {
    const alive = all.filter(({ process, end }) => process.isRunning && !end);
    return alive.length > 0 && alive.every(({ options }) => options.weight > 0);
  };
  let recoveredMs = 0;
  for (let ms = 0; ms < recoveryMs; ms += 250) {
    await world.until(faultsEndMs + ms, check);
    if (keys.some((key) => callers(key).length === 0)) recoveredMs = ms;
  }
  const alone = keys.filter((key) => callers(key).length === 0);
  if (able() && alone.length > 0)
    throw new Error(`no replica may call ${alone.join()} ${recoveryMs} ms after the faults`);
  return { recoveredMs: able() ? recoveredMs : undefined, writes: hub.writes };
}
