import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SingleFlight } from '../../src/image-credentials/cache.ts';

/** Work that fails with the number of its run, and says how long it is held back. */
function failing() {
  const clock = { now: 1_000_000 };
  let runs = 0;
  const flight = new SingleFlight<never>(
    () => clock.now,
    (error, leftMs) => ({ heldBack: error, leftMs }),
  );
  const run = (key = 'a') =>
    flight
      .run(key, async () => {
        runs += 1;
        throw runs;
      })
      .catch((error: unknown) => error);
  return { clock, run, runs: () => runs };
}

describe('work that fails', () => {
  test('is held back for a second, then for two, up to thirty, a quarter of it random', async () => {
    const { clock, run } = failing();
    for (const longest of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      const error = await run();
      assert.equal(typeof error, 'number');
      const held = await run();
      assert.ok(typeof held === 'object' && held !== null && 'leftMs' in held && typeof held.leftMs === 'number');
      assert.ok(held.leftMs <= longest && held.leftMs >= longest * 0.75, `${held.leftMs} of ${longest}`);
      clock.now += held.leftMs;
    }
  });

  test('is held back for its own key, and not by a clock that was set back', async () => {
    const { clock, run, runs } = failing();
    await run('a');
    await run('a');
    await run('b');
    assert.equal(runs(), 2);
    clock.now -= 3_600_000;
    await run('a');
    assert.equal(runs(), 3);
  });

  test('begins anew once it has been left alone for five minutes', async () => {
    const { clock, run } = failing();
    for (let i = 0; i < 5; i++) {
      await run();
      clock.now += 30_000;
    }
    clock.now += 300_001;
    await run();
    const held = await run();
    assert.ok(typeof held === 'object' && held !== null && 'leftMs' in held && Number(held.leftMs) <= 1_000);
  });
});

test('work that succeeds is shared while it runs, and is not kept', async () => {
  const flight = new SingleFlight<number>(Date.now, (error) => error);
  let runs = 0;
  const run = () =>
    flight.run('a', async () => {
      runs += 1;
      await new Promise((resolve) => setImmediate(resolve));
      return runs;
    });
  assert.deepEqual(await Promise.all([run(), run(), run()]), [1, 1, 1]);
  assert.equal(await run(), 2);
});
