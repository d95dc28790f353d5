import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inTurn } from '../../../src/fleet/reflect/turns.ts';

const MiB = 1024 * 1024;

/** Takes the time of a few events. */
function work(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

describe('work on what clusters have sent', () => {
  test('is done for a cluster that has sent little before what waits of one that has sent much', async () => {
    const [heavy, light] = [{}, {}];
    const done: string[] = [];
    await inTurn(heavy, MiB, () => done.push('first'));
    const waiting = Array.from({ length: 10 }, (_, i) =>
      inTurn(heavy, MiB, () => {
        work(5);
        done.push(`heavy ${i}`);
      }),
    );
    await waiting[0];
    await inTurn(light, 1_000, () => done.push('light'));
    await Promise.all(waiting);
    assert.ok(done.indexOf('light') < 5, done.join());
    assert.equal(done.at(-1), 'heavy 9');
  });

  test('is done first for the one that has sent least, where all have sent much', async () => {
    const [most, less, least] = [{}, {}, {}];
    const done: string[] = [];
    await Promise.all([
      inTurn(most, 64 * MiB, () => 0),
      inTurn(less, 24 * MiB, () => 0),
      inTurn(least, 16 * MiB, () => 0),
    ]);
    await Promise.all([
      ...[1, 2].map(() => inTurn(most, MiB, () => done.push('most'))),
      ...[1, 2].map(() => inTurn(less, MiB, () => done.push('less'))),
      ...[1, 2].map(() => inTurn(least, MiB, () => done.push('least'))),
    ]);
    assert.deepEqual(done, ['least', 'least', 'less', 'less', 'most', 'most']);
  });

  test('that fails rejects, and what waits goes on', async () => {
    const owner = {};
    await inTurn(owner, MiB, () => 0);
    const failing = inTurn(owner, 0, () => {
      throw new Error('it is not JSON');
    });
    const next = inTurn(owner, 0, () => 'done');
    await assert.rejects(async () => failing, { message: 'it is not JSON' });
    assert.equal(await next, 'done');
  });
});
