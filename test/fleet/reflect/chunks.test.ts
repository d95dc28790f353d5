import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Deadline } from '../../../src/fleet/api-server.ts';
import { bodyOf, chunksOf } from '../../../src/fleet/reflect/chunks.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { until } from '../../fixtures/until.ts';

/** A body, and what is read of it: chunks, and how it ended. */
function startReading(patience?: (deadline: Deadline) => void) {
  const body = new Readable({ read: () => undefined });
  const outer = new AbortController();
  const clock = new ManualClock();
  const deadline = new Deadline(clock, outer.signal);
  deadline.set(60_000, 'time is over');
  const seen: string[] = [];
  const done = (async () => {
    try {
      const wait = patience && (() => patience(deadline));
      for await (const pieces of chunksOf(bodyOf(body), deadline, wait)) seen.push(pieces.join(''));
      seen.push('ended');
    } catch (error) {
      seen.push(String(error));
    } finally {
      deadline.end();
    }
    return seen;
  })();
  return { body, outer, clock, seen, done };
}

describe('the chunks of a body', () => {
  test('hold all that one turn of the event loop has brought', async () => {
    const { body, seen, done } = startReading();
    await turn();
    for (const piece of ['a', 'b', 'c']) {
      body.push(piece);
      for (let tick = 0; tick < 5; tick++) await new Promise<void>((resolve) => process.nextTick(resolve));
    }
    while (seen.length === 0) await turn();
    body.push('d');
    body.push(null);
    assert.deepEqual(await done, ['abc', 'd', 'ended']);
  });

  test('come before the error that breaks the body off in the same turn', async () => {
    const { body, done } = startReading();
    await turn();
    body.push('the last word');
    body.destroy(new Error('reset'));
    assert.deepEqual(await done, ['the last word', 'Error: reset']);
  });

  test('come before an abort of the same turn', async () => {
    const { body, outer, done } = startReading();
    await turn();
    body.push('the last word');
    outer.abort(new Error('over'));
    assert.deepEqual(await done, ['the last word', 'Error: over']);
  });

  test('come until a deadline that no piece moves', async (t) => {
    const { body, clock, seen, done } = startReading();
    for (const piece of ['a', 'b', 'c']) {
      body.push(piece);
      await until(t, () => seen.at(-1) === piece);
      clock.advance(20_000);
    }
    assert.deepEqual(await done, ['a', 'b', 'c', 'FleetError: time is over']);
  });

  test('come for as long as each wait for one is short', async (t) => {
    const { body, clock, seen, done } = startReading((deadline) => deadline.set(30_000, 'nothing came'));
    for (const piece of ['a', 'b', 'c']) {
      body.push(piece);
      await until(t, () => seen.at(-1) === piece);
      clock.advance(20_000);
    }
    clock.advance(10_000);
    assert.deepEqual(await done, ['a', 'b', 'c', 'FleetError: nothing came']);
  });
});
