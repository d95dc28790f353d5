import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { start, startSource } from '../fixtures/exec-credential-source.ts';
import { until } from '../fixtures/until.ts';

describe('a plugin whose answers are good for', () => {
  /** In 10 s, with a request every 500 ms. */
  async function runsOf(t: TestContext, lifetimes: readonly number[]) {
    const { plugin, clock, source, token, warnings } = await startSource(t, { token: 'a' });
    const told = new Set<string>();
    let changes = 0;
    for (let last = ''; clock.now < start + 10_000; clock.now += 500) {
      const life = lifetimes[source.runs % lifetimes.length] ?? 0;
      const { runs } = source;
      const next = `token-${runs + 1}`;
      await plugin.answer({ token: next, expirationTimestamp: new Date(clock.now + life).toISOString() });
      await token();
      // It may have been started behind the request.
      if (source.runs > runs) await until(t, async () => (await token()) === `Bearer ${next}`);
      if ((warnings() === '') !== (last === '')) changes += 1;
      last = warnings();
      told.add(last);
    }
    return { runs: source.runs, changes, told };
  }

  for (const lifetimes of [[-600_000], [999], [0, 20, 500]]) {
    test(`${lifetimes.join(', then ')} ms is held back, with backoff, and warned about once`, async (t) => {
      const { runs, changes, told } = await runsOf(t, lifetimes);
      assert.ok(runs >= 3 && runs <= 6, `${runs}`);
      assert.equal(changes, 1);
      assert.match([...told].at(-1) ?? '', /(is|are) used all the same\. Check the clocks/);
    });
  }

  for (const [lifetimes, least, most] of [
    [[1_000], 7, 15],
    [[20, 60_000], 2, 2],
    [[999, 5_000], 3, 7],
  ] as const) {
    test(`${lifetimes.join(', then ')} ms is not held back`, async (t) => {
      const { runs, told } = await runsOf(t, lifetimes);
      assert.ok(runs >= least && runs <= most, `${runs}`);
      assert.deepEqual([...told], ['']);
    });
  }

  test('a moment, after failures, is asked again at once, and then held back', async (t) => {
    const { plugin, clock, source, token } = await startSource(t, { exitCode: 1 });
    for (let i = 0; i < 5; i++) {
      await assert.rejects(token);
      clock.now += 30_000;
    }
    const moment = () => plugin.answer({ token: 'a', expirationTimestamp: new Date(clock.now + 20).toISOString() });
    await moment();
    await token();
    clock.now += 50;
    await moment();
    await token();
    assert.equal(source.runs, 7);
    clock.now += 15_000;
    await moment();
    await token();
    assert.equal(source.runs, 7);
  });
});
