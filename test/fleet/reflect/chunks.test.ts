import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Deadline } from '../../../src/fleet/api-server.ts';
import { bodyOf, chunksOf } from '../../../src/fleet/reflect/chunks.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';

/** A body, and what is read of it: chunks, and how it ended. */
function startReading() {
  const body = new Readable({ read: () => undefined });
  const outer = new AbortController();
  const deadline = new Deadline(new ManualClock(), outer.signal);
  const seen: string[] = [];
  const done = (async () => {
    try {
      for await (const pieces of chunksOf(bodyOf(body), deadline, () => undefined)) seen.push(pieces.join(''));
      seen.push('ended');
    } catch (error) {
      seen.push(String(error));
    } finally {
      deadline.end();
    }
    return seen;
  })();
  return { body, outer, seen, done };
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
});
