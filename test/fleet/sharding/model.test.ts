import { test } from 'node:test';
import fc from 'fast-check';
import { play, rare, schedules } from '../../model/schedule.ts';

// `npm run test:model` plays ten thousand.
test('whatever happens to replicas, hub and network, two never own one shard, and each shard gets an owner again', async () => {
  await fc.assert(
    fc.asyncProperty(schedules, async (schedule) => {
      await play(schedule);
    }),
    { numRuns: 15, examples: rare.map((schedule) => [schedule]) },
  );
});
