// Rounds, one after the other.
import assert from 'node:assert/strict';
import { writePlugin } from '../../../src/testing/index.ts';
import { Neighbour } from './neighbour.ts';
import { playRound } from './round.ts';

export interface TransportOptions {
  readonly seed: number;
  readonly seconds: number;
  /** Only this one. */
  readonly round?: number | undefined;
}

/** What nobody waits for who does not wait for a hostile server: 95 of 100 requests end within so many times their peers' time. */
const most = 3;

/** What the healthy neighbour takes. */
const healthyToken = 'healthy-token';

/** Plays rounds for so many seconds. Gives a line with what was tried; throws with what was wrong, and how to see it again. */
export async function driveTransport({ seed, seconds, round: only }: TransportOptions): Promise<string> {
  const plugins = { hostile: await writePlugin({}), healthy: await writePlugin({ token: healthyToken }) };
  const neighbour = await Neighbour.start(healthyToken);
  const sum = { rounds: 0, requests: 0, arrivals: 0, answered: 0 };
  const codes = new Map<string, number>();
  const began = performance.now();
  try {
    for (let round = only ?? 1; performance.now() - began < seconds * 1_000; round += only === undefined ? 1 : 0) {
      const how = `seed ${seed}, round ${round}`;
      const told = (error: unknown) => {
        console.error(`nobody caught this (${how}):`, error);
        process.exit(1);
      };
      process.on('uncaughtException', told);
      const result = await playRound(`${seed} ${round}`, plugins, neighbour);
      process.off('uncaughtException', told);
      assert.deepEqual(result.faults, [], how);
      sum.rounds += 1;
      sum.requests += result.requests;
      sum.arrivals += result.arrivals;
      sum.answered += result.answered;
      for (const [code, count] of result.codes) codes.set(code, (codes.get(code) ?? 0) + count);
    }
  } finally {
    await Promise.all([plugins.hostile.remove(), plugins.healthy.remove(), neighbour.close()]);
  }
  const { pairs } = neighbour;
  const beside = `${pairs.ratio(0.5).toFixed(2)} (95 %: ${pairs.ratio(0.95).toFixed(2)})`;
  assert.ok(pairs.ratio(0.95) < most, `requests to a healthy cluster took ${beside} of bare undici's time`);
  const failed = [...codes].toSorted(([, a], [, b]) => b - a).map(([code, count]) => `${code} ${count}`);
  return (
    `transport: ${sum.rounds} rounds, ${sum.requests} requests, ${sum.arrivals} seen by servers, ` +
    `${sum.answered} answered; the others: ${failed.join(', ')}; ` +
    `${pairs.count} to a healthy cluster took ${beside} of bare undici's time`
  );
}
