import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/fleet/clock.ts';

test('what is due after more than setTimeout takes is called when it is due, and not before', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const month = 30 * 86_400_000;
  const called: string[] = [];
  systemClock.after(month, () => called.push('month'));
  systemClock.after(3 * month, () => called.push('quarter'));
  systemClock.after(Number.POSITIVE_INFINITY, () => called.push('never'));
  const cancel = systemClock.after(2 * month, () => called.push('cancelled'));
  const longest = 2 ** 31 - 1;
  let now = 0;
  /** Stops wherever a part of the wait ends, as time does. */
  const passTo = (at: number) => {
    while (now < at) {
      const step = Math.min(at - now, longest - (now % longest));
      t.mock.timers.tick(step);
      now += step;
    }
  };
  passTo(month - 1);
  assert.deepEqual(called, []);
  cancel();
  passTo(month);
  assert.deepEqual(called, ['month']);
  passTo(3 * month - 1);
  assert.deepEqual(called, ['month']);
  passTo(3 * month);
  assert.deepEqual(called, ['month', 'quarter']);
});

// Node warns of it, and a warning fails the run.
test('what is due already is called at once, and nobody is warned', async () => {
  await new Promise<void>((resolve) => {
    systemClock.after(-1_000, resolve);
  });
});
