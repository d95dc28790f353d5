// 100,000 items of 1,000 clusters, one of which brings 90 % of them: how long the others wait, beside one queue for all.

import { systemClock } from '../../../src/fleet/clock.ts';
import { Fifo } from '../../../src/fleet/controller/fifo.ts';
import { WorkQueue } from '../../../src/fleet/controller/work-queue.ts';
import { heading, report } from '../report.ts';

const clusters = 1_000;
const items = 100_000;
const share = 0.9;

/** Which cluster each item is of: the busy one has come first. */
function* arrivals(): Generator<readonly [cluster: number, key: string]> {
  for (let i = 0; i < items * share; i++) yield [0, `busy-${i}`];
  for (let i = 0; i < items * (1 - share); i++) yield [1 + (i % (clusters - 1)), `item-${i}`];
}

/** The place in the order of work that the slowest in a hundred of the other clusters' items has. */
function lastPlace(order: readonly number[]): number {
  const places = order.flatMap((cluster, place) => (cluster === 0 ? [] : [place]));
  return places[Math.floor(places.length * 0.99)] ?? Number.NaN;
}

export async function benchQueue(): Promise<void> {
  heading(`${items} items of ${clusters} clusters, one of which brings ${share * 100} % of them`);
  const one = new Fifo<number>();
  for (const [cluster] of arrivals()) one.push(cluster);
  const plain: number[] = [];
  for (let cluster = one.shift(); cluster !== undefined; cluster = one.shift()) plain.push(cluster);

  const queue = new WorkQueue<number>({
    clock: systemClock,
    perCluster: 4,
    places: 100,
    backoff: { firstMs: 5, longestMs: 1_000_000, jitter: 0 },
    ready: () => {},
  });
  const queues = Array.from({ length: clusters }, (_, index) => {
    const one = queue.queueOf(`cluster-${index}`);
    one.resume();
    return one;
  });
  const began = performance.now();
  for (const [cluster, key] of arrivals()) queues[cluster]?.add(key, cluster, 'initial');
  const fair: number[] = [];
  for (let job = queue.take(); job; job = queue.take()) {
    fair.push(job.value);
    job.done({});
  }
  const us = ((performance.now() - began) * 1_000) / items;
  const [here, there] = [lastPlace(fair), lastPlace(plain)];
  const peer = 'one queue for all';
  report("items worked on before the others' (99 %)", here, 'items', { ratio: here / there, peer });
  report('time for each item, in and out', us, 'us');
}
