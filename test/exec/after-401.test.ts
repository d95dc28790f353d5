import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Rejections } from '../../src/exec/credential-source.ts';
import { minutes, startSource } from '../fixtures/exec-credential-source.ts';

describe('after a 401', () => {
  test('the plugin runs once for all who used the same credential', async (t) => {
    const { plugin, source } = await startSource(t, { token: 'a' });
    const old = await source.get();
    await plugin.answer({ token: 'b' });
    const rejections = new Rejections();
    const fresh = await Promise.all(Array.from({ length: 10 }, () => source.afterRejection(old, rejections)));
    assert.ok(fresh.every((credential) => credential?.authorization === 'Bearer b'));
    assert.equal(await plugin.runs(), 2);
  });

  test('to a credential that is no longer the current one, the current one is given and nothing runs', async (t) => {
    const { plugin, source } = await startSource(t, { token: 'a' });
    const old = await source.get();
    const rejections = new Rejections();
    const current = await source.afterRejection(old, rejections);
    assert.equal(await source.afterRejection(old, rejections), current);
    assert.equal(await plugin.runs(), 2);
  });

  test('further refreshes are held back for that connection, and for no other', async (t) => {
    const { plugin, clock, source } = await startSource(t, { token: 'a' });
    const broken = new Rejections();
    const other = new Rejections();
    const reject = async (rejections: Rejections) => source.afterRejection(await source.get(), rejections);
    assert.ok(await reject(broken));
    for (let i = 0; i < 20; i++) assert.equal(await reject(broken), undefined);
    assert.equal(await plugin.runs(), 2);
    assert.ok(await reject(other));
    clock.now += 1_001;
    assert.ok(await reject(broken));
    clock.now += 1_001;
    assert.equal(await reject(broken), undefined, 'the second hold is 2 s');
  });

  test('a hundred connections that share a credential have ten refreshes at once, then one a second', async (t) => {
    const { plugin, clock, source } = await startSource(t, { token: 'a' });
    const connections = Array.from({ length: 100 }, () => new Rejections());
    const rejectAll = async () => {
      for (const rejections of connections) {
        if (await source.afterRejection(await source.get(), rejections)) rejections.replayAccepted();
      }
    };
    await rejectAll();
    assert.equal(await plugin.runs(), 11);
    for (let second = 1; second <= 5; second++) {
      clock.now += 1_000;
      await rejectAll();
      assert.equal(await plugin.runs(), 11 + second);
    }
    clock.now -= minutes(600);
    await rejectAll();
    clock.now += 1_000;
    await rejectAll();
    assert.equal(await plugin.runs(), 17, 'a clock that is set back stops nothing');
  });

  test('a refresh that fails leaves the old credential in place, and says why', async (t) => {
    const { plugin, source, token, warnings } = await startSource(t, { token: 'a' });
    const old = await source.get();
    await plugin.answer({ exitCode: 9 });
    assert.equal(await source.afterRejection(old, new Rejections()), undefined);
    assert.equal(await token(), 'Bearer a');
    assert.match(warnings(), /a refresh after a 401 failed, so the caller gets the server's 401: .*exit code 9/);
  });
});
