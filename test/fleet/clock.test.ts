import { test } from 'node:test';
import { systemClock } from '../../src/fleet/clock.ts';

// Node warns of it, and a warning fails the run.
test('what is due already is called at once, and nobody is warned', async () => {
  await new Promise<void>((resolve) => {
    systemClock.after(-1_000, resolve);
  });
});
