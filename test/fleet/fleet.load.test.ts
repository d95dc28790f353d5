import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHub } from '../fixtures/fleet-hub.ts';

test('a fleet that is asked whether it has synced again and again keeps nothing of who gave up', async (t) => {
  const { hub, run } = await startHub(t);
  hub.failNext('hang', 1_000_000);
  const fleet = run();
  const givenUp = async (count: number) => {
    for (let i = 0; i < count; i++) {
      const stop = new AbortController();
      const synced = fleet.synced({ signal: stop.signal });
      stop.abort(new Error('given up'));
      const error: unknown = await synced.catch((reason: unknown) => reason);
      if (!Object.is(error, stop.signal.reason)) throw error;
    }
    globalThis.gc?.();
    return process.memoryUsage().heapUsed;
  };
  const before = await givenUp(1_000);
  const count = 20_000;
  const bytes = ((await givenUp(count)) - before) / count;
  assert.ok(bytes < 500, `${bytes} bytes of each`);
});
