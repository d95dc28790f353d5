import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Rejections } from '../../src/exec/credential-source.ts';
import { Random } from '../fixtures/random.ts';

/** Whether a server refuses its nth request. */
type Pattern = (request: number) => boolean;

/** Thirty requests a second; gives the times of the refreshes. A refresh is followed by a replay, which the pattern counts too. */
function refreshes(refuses: Pattern, seconds: number, clock = (now: number) => now): readonly number[] {
  const rejections = new Rejections();
  const times: number[] = [];
  let request = 0;
  for (let time = 0; time < seconds * 1_000; time += 1_000 / 30) {
    request += 1;
    const now = clock(time);
    if (!refuses(request) || rejections.isCoolingDown(now)) continue;
    rejections.add(now);
    times.push(time);
    request += 1;
    if (!refuses(request)) rejections.replayAccepted();
  }
  return times;
}

const half = new Random(1);
const patterns: Readonly<Record<string, Pattern>> = {
  'every other request': (request) => request % 2 === 1,
  'every tenth request': (request) => request % 10 === 0,
  'two requests in three': (request) => request % 3 !== 0,
  'every request': () => true,
  'requests that reach one of two replicas': () => half.chance(0.5),
  'a minute of requests in ten': (request) => request % 18_000 < 1_800,
};

const hour = 3_600;
const within = (times: readonly number[], from: number, to: number) =>
  times.filter((time) => time >= from * 1_000 && time < to * 1_000).length;

describe('401s of a server that refuses good credentials', () => {
  for (const [name, refuses] of Object.entries(patterns)) {
    test(`with ${name}: a handful of refreshes at first, then about one in half a minute for ever`, () => {
      const times = refreshes(refuses, 3 * hour);
      assert.ok(within(times, 0, 60) <= 13, `${within(times, 0, 60)} in the first minute`);
      for (let start = hour; start < 3 * hour; start += 60) {
        assert.ok(within(times, start, start + 60) <= 12, `${within(times, start, start + 60)} in a minute`);
      }
      const later = within(times, hour, 3 * hour) / 2;
      assert.ok(later <= hour / 20, `${later} in an hour`);
      assert.ok(times.length > 10);
    });
  }

  test('and a clock that is set back or steps to and fro: no more of them', () => {
    for (const clock of [
      (now: number) => (now > 60_000 ? now - 36_000_000 : now),
      (now: number) => now + (Math.floor(now / 1_000) % 2) * 500,
    ]) {
      const times = refreshes(() => true, hour, clock);
      assert.ok(times.length <= hour / 15, `${times.length} in an hour`);
    }
  });
});
