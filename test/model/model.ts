/**
 * Plays random schedules of the model: `npm run test:faults -- model --schedules 4000 --seed 7`. A schedule that fails is made as small as
 * it gets, and printed with its seed.
 */
import { parseArgs } from 'node:util';
import { promises } from './promises.ts';

const { values } = parseArgs({
  options: {
    schedules: { type: 'string', default: '4000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});
const schedules = Number(values.schedules);
const seed = Number(values.seed);
const started = performance.now();
try {
  // The first one is about everything at once, and the others about one thing each.
  for (const [index, { title, check }] of promises.entries()) {
    const numRuns = index === 0 ? schedules : Math.ceil(schedules / 10);
    await check({ numRuns, seed });
    console.log(`${numRuns} schedules, ${((performance.now() - started) / 1_000).toFixed(1)} s: ${title}`);
  }
} catch (error) {
  console.error(error);
  console.error(`npm run test:faults -- model --schedules ${schedules} --seed ${seed} repeats it`);
  process.exitCode = 1;
}
