import { test } from 'node:test';
import { fc } from '../../fixtures/property.ts';
import {
  absences,
  depart,
  departures,
  endure,
  inventories,
  latencies,
  outlast,
  play,
  publish,
  rare,
  schedules,
} from '../../model/schedule.ts';

// `npm run test:faults -- model` plays thousands.
test('whatever happens to replicas, hub and network, two never own one shard, and each shard gets an owner again', async () => {
  await fc.assert(
    fc.asyncProperty(schedules, async (schedule) => {
      await play(schedule);
    }),
    { numRuns: 15 + rare.length, examples: rare.map((schedule) => [schedule]) },
  );
});

test('a hub that is away for less than ten seconds changes nothing, whenever that is', async () => {
  await fc.assert(fc.asyncProperty(absences, outlast), { numRuns: 40 });
});

test('replicas that leave release all that they have, and others take it', async () => {
  await fc.assert(fc.asyncProperty(departures, depart), { numRuns: 50 });
});

test('a hub that does all it is asked for, and answers late, changes nothing while a request takes less than a third of a Lease', async () => {
  await fc.assert(fc.asyncProperty(latencies, endure), { numRuns: 30 });
});

test('clusters whose profiles come and go, and change their IDs, have one replica at a time, and one in the end', async () => {
  // A cluster is published anew under another name, which one replica sees before the other has let it go.
  const renamed = [
    { at: 0, profile: 0, cluster: 0 },
    { at: 0, profile: 0, cluster: null },
    { at: 0, profile: 3, cluster: 0 },
  ];
  const examples: [Parameters<typeof publish>[0]][] = [[{ seed: 0, replicas: 2, lagMs: 20, changes: renamed }]];
  await fc.assert(fc.asyncProperty(inventories, publish), { numRuns: 40, examples });
});
