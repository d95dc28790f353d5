import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startInformers } from '../../fixtures/informers.ts';

/** Whether a promise has been settled when everything that is due has run. */
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = () => (settled = true);
  promise.then(settle, settle);
  await new Promise((resolve) => setImmediate(resolve));
  return !settled;
}

describe('an informer has reached a version', () => {
  for (const streamingList of [true, false]) {
    test(`by ${streamingList ? 'a streaming list' : 'pages'}, a change, a delete, or a bookmark`, async (t) => {
      const { server, informer, watching } = await startInformers(t);
      server.streamingList = streamingList;
      const map = { metadata: { name: 'a' } };
      server.apply(map); // 101
      const maps = informer();
      const first = maps.reached('101');
      assert.equal(maps.hasSynced, false);
      await first;
      assert.ok(maps.get('a', 'default'));
      await watching();
      const [second, third, fourth] = ['102', '103', '104'].map((version) => maps.reached(version));
      assert.equal(await isPending(second ?? assert.fail()), true);
      server.apply(map);
      await second;
      assert.equal(maps.get('a', 'default')?.metadata.resourceVersion, '102');
      assert.equal(await isPending(third ?? assert.fail()), true);
      server.delete('a');
      await third;
      assert.equal(maps.get('a', 'default'), undefined);
      server.bookmark();
      await fourth;
      // As numbers, and not as texts.
      await maps.reached('99');
      assert.equal(await isPending(maps.reached('1000')), true);
    });
  }

  test('or says why it does not', async (t) => {
    const { informer, stop } = await startInformers(t);
    const maps = informer();
    await maps.synced();
    const gone = new AbortController();
    const left = assert.rejects(maps.reached('1000', { signal: gone.signal }), /no more/);
    const ended = assert.rejects(maps.reached('1000'), /disengaged/);
    gone.abort(new Error('no more'));
    await left;
    stop.abort(new Error('disengaged'));
    await ended;
    const message = /resourceVersion: must be a resourceVersion, which is a number/;
    for (const version of ['', 'x', '1.5', 1, undefined]) assert.throws(() => maps.reached(version as string), message);
    assert.throws(() => maps.reached('1', { signal: 5 as never }), /signal: must be an AbortSignal/);
  });
});
