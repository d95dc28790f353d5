/**
 * Plays random schedules of the model: `npm run test:faults -- model --schedules 4000 --seed 7`. A schedule that fails is made as small as
 * it gets, and printed with its seed.
 */
import { parseArgs } from 'node:util';
import fc from 'fast-check';
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
} from './schedule.ts';

async function reportOf<T>(details: fc.RunDetails<T>): Promise<string | undefined> {
  return details.failed ? `${await fc.asyncDefaultReportMessage(details)}\n${details.errorInstance}` : undefined;
}

const { values } = parseArgs({
  options: {
    schedules: { type: 'string', default: '4000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});
const numRuns = Number(values.schedules);
const seed = Number(values.seed);
const recovered: number[] = [];
let writes = 0;
const started = performance.now();
const details = await fc.check(
  fc.asyncProperty(schedules, async (schedule) => {
    const outcome = await play(schedule);
    if (outcome.recoveredMs !== undefined) recovered.push(outcome.recoveredMs);
    writes += outcome.writes;
  }),
  { numRuns, seed, examples: rare.map((schedule) => [schedule]) },
);
const fewer = { numRuns: Math.ceil(numRuns / 10), seed };
const failures = [
  await reportOf(details),
  await reportOf(await fc.check(fc.asyncProperty(absences, outlast), fewer)),
  await reportOf(await fc.check(fc.asyncProperty(departures, depart), fewer)),
  await reportOf(await fc.check(fc.asyncProperty(latencies, endure), fewer)),
  await reportOf(await fc.check(fc.asyncProperty(inventories, publish), fewer)),
];
const seconds = ((performance.now() - started) / 1_000).toFixed(1);
const failure = failures.find((report) => report !== undefined);
if (failure) {
  console.error(failure);
  console.error(`npm run test:faults -- model --schedules ${numRuns} --seed ${seed} repeats it`);
  process.exitCode = 1;
} else {
  recovered.sort((a, b) => a - b);
  const at = (share: number) => ((recovered[Math.floor(share * (recovered.length - 1))] ?? 0) / 1_000).toFixed(1);
  console.log(
    `${numRuns} schedules (seed ${seed}) in ${seconds} s: never two owners, and neither a short absence of the hub nor slow answers changed anything; ` +
      'after the faults every cluster had one again after ' +
      `${at(0.5)} s (half), ${at(0.99)} s (99 of 100), ${at(1)} s (all); ${writes} writes to Leases`,
  );
}
