import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/fleet/clock.ts';

test('a wait longer than setTimeout takes ends after the longest that it takes, and not at once', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const called: string[] = [];
  systemClock.after(90 * 86_400_000, () => called.push('quarter'));
  systemClock.after(Number.POSITIVE_INFINITY, () => called.push('never'));
  systemClock.after(30 * 86_400_000, () => called.push('cancelled'))();
  t.mock.timers.tick(2 ** 31 - 2);
  assert.deepEqual(called, []);
  t.mock.timers.tick(1);
  assert.deepEqual(called, ['quarter', 'never']);
});

// Node warns of it, and a warning fails the run.
test('what is due already is called at once, without a warning', async () => {
  await new Promise<void>((resolve) => {
    systemClock.after(-1_000, resolve);
  });
});
