import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { anyIo, respond, startImageProvider } from '../fixtures/image-plugins.ts';

describe('the cache (F)', () => {
  for (const [cacheKeyType, forRegistry, forAll] of [
    ['Image', 2, 4],
    ['Registry', 1, 2],
    ['Global', 1, 1],
  ] as const) {
    test(`F.49, F.50: an answer for ${cacheKeyType} serves as far as that goes, one for a registry too`, async (t) => {
      const { providers, runs } = await startImageProvider(t, { code: respond(anyIo, { cacheKeyType }) });
      for (let round = 0; round < 2; round++) {
        await providers.getRegistryCredentials('gcr.io');
        await providers.getCredentials('gcr.io/a');
      }
      assert.equal(await runs('p'), forRegistry);
      for (const image of ['gcr.io/b', 'gcr.io/a:2', 'quay.io/a', 'quay.io/a']) await providers.getCredentials(image);
      assert.equal(await runs('p'), forAll);
    });
  }

  for (const [item, cacheDuration, defaultCacheDuration, expected] of [
    ["F.52: the answer's own duration counts", '1h', '0s', 1],
    ['F.52: zero is none, whatever the default', '0s', '1h', 3],
    ['F.52: a negative one has expired', '-5m', '1h', 3],
    ['F.52: without one the default counts', undefined, '1h', 1],
    ['F.52: and zero there is none', undefined, '0s', 3],
  ] as const) {
    test(item, async (t) => {
      const plugin = { code: respond(anyIo, { cacheDuration }), config: { defaultCacheDuration } };
      const { users, runs } = await startImageProvider(t, plugin);
      for (let i = 0; i < 3; i++) assert.deepEqual(await users('gcr.io/a'), ['p u']);
      assert.equal(await runs('p'), expected);
    });
  }

  test('F.53: expires strictly after its time, a hit does not extend it', async (t) => {
    const clock = { now: 0 };
    const { providers, runs } = await startImageProvider(t, {}, { clock: () => clock.now });
    for (const now of [0, 300_000, 600_000]) {
      clock.now = now;
      await providers.getCredentials('gcr.io/a');
    }
    assert.equal(await runs('p'), 1);
    clock.now = 600_001;
    await providers.getCredentials('gcr.io/a');
    assert.equal(await runs('p'), 2);
  });

  for (const [how, looks] of [
    ['at once', [0, -3_600_000]],
    ['and has caught up', [0, -3_600_000, 30_000]],
  ] as const) {
    test(`F.53: a clock that was set back, ${how}, does not keep an answer any longer`, async (t) => {
      const clock = { now: 0 };
      const code = respond(anyIo, { cacheDuration: '1m' });
      const { users, runs } = await startImageProvider(t, { code }, { clock: () => clock.now + 10_000_000 });
      for (const now of looks) {
        clock.now = now;
        assert.deepEqual(await users('gcr.io/a'), ['p u']);
      }
      assert.equal(await runs('p'), looks.length);
      // What was answered since is kept.
      await users('gcr.io/a');
      assert.equal(await runs('p'), looks.length);
    });
  }

  test('F.54: an empty answer is kept too', async (t) => {
    const { providers, runs } = await startImageProvider(t, { code: respond({}) });
    for (let i = 0; i < 3; i++) await providers.getCredentials('gcr.io/a');
    assert.equal(await runs('p'), 1);
  });

  test('F.57: concurrent pulls of an image share one run, those of two images do not', async (t) => {
    const code = `sleep 0.2\n${respond(anyIo, { cacheKeyType: 'Registry' })}`;
    const { providers, runs } = await startImageProvider(t, { code });
    const images = Array.from({ length: 50 }, (_, index) => `gcr.io/${index % 2 === 0 ? 'a' : 'b'}`);
    await Promise.all(images.map((image) => providers.getCredentials(image)));
    assert.equal(await runs('p'), 2);
  });

  test('a caller who gives up leaves the run to those who ask next', async (t) => {
    const { providers, users, runs } = await startImageProvider(t, { code: `sleep 0.2\n${respond(anyIo)}` });
    const controller = new AbortController();
    const asked = providers.getCredentials('gcr.io/a', { signal: controller.signal });
    controller.abort(new Error('enough'));
    await assert.rejects(asked, /enough/);
    assert.deepEqual(await users('gcr.io/a'), ['p u']);
    assert.equal(await runs('p'), 1);
  });

  test('a caller who has given up already runs nothing', async (t) => {
    const { providers, runs } = await startImageProvider(t);
    const signal = AbortSignal.abort(new Error('enough'));
    await assert.rejects(providers.getCredentials('gcr.io/a', { signal }), /enough/);
    await assert.rejects(providers.getRegistryCredentials('gcr.io', { signal }), /enough/);
    await providers.getCredentials('quay.io/a');
    assert.equal(await runs('p'), 1);
  });

  test('after close() nothing that was kept is served, to those who wait neither', async (t) => {
    const { providers, runs } = await startImageProvider(t, { code: respond(anyIo, { cacheKeyType: 'Global' }) });
    await providers.getCredentials('gcr.io/a');
    const running = providers.getCredentials('gcr.io/b');
    await providers.close();
    for (const asked of [running, providers.getCredentials('gcr.io/a')]) {
      const { credentials, failures } = await asked;
      assert.deepEqual([credentials, failures.map(({ error }) => error.code)], [[], ['PLUGIN_STOPPED']]);
    }
    assert.equal(await runs('p'), 1);
  });
});
