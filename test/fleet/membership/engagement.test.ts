import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startOne } from '../../fixtures/controllers.ts';
import { isEngaged, startHub, stateOf } from '../../fixtures/fleet-hub.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { until } from '../../fixtures/until.ts';

describe('a cluster that fails', () => {
  test('is tried again with growing pauses, five minutes at most', async (t) => {
    const { cluster, run } = await startOne(t);
    const clock = new ManualClock();
    cluster.failNext(500, 1_000, ({ url }) => url === '/version');
    const pauses: number[] = [];
    const tell = (_fields: object, message: string) => {
      const [, seconds] = /next try in (\d+) s/.exec(message) ?? [];
      if (seconds !== undefined) pauses.push(Number(seconds));
    };
    const fleet = run({ clock, logger: { warn: tell, debug: tell } });
    await fleet.synced();
    assert.equal(stateOf(fleet, 'one'), 'Backoff REQUEST/STATUS_500');
    for (let failures = 1; failures <= 12; failures++) {
      await until(t, () => pauses.length === failures);
      const [least, most] = [Math.min(200, 2 ** (failures - 1)), Math.min(300, 1.5 * 2 ** (failures - 1) + 1)];
      const seconds = pauses.at(-1) ?? 0;
      assert.ok(seconds >= least && seconds <= most, `${seconds} s after failure ${failures}`);
      await until(t, () => stateOf(fleet, 'one').startsWith('Backoff'));
      clock.advance(seconds * 1_000);
    }
  });

  test('holds no other up, however it fails', async (t) => {
    const { publish, spoke, plugin, run } = await startHub(t);
    const silent = await spoke();
    silent.failNext('hang', 1_000);
    const refusing = await spoke({ tokens: {} });
    const throttling = await spoke();
    throttling.failNext(429, 1_000);
    publish('a-silent', silent);
    publish('b-refusing', refusing);
    publish('c-throttling', throttling);
    publish('d-dead', 'https://127.0.0.1:1');
    publish('e-insecure', 'http://127.0.0.1:1');
    publish('f-nowhere', 'https://nowhere.invalid');
    for (let i = 0; i < 5; i++) publish(`good-${i}`, await spoke());
    const fleet = run();
    await until(t, () => [0, 1, 2, 3, 4].every((i) => isEngaged(fleet, `good-${i}`)));
    await until(t, () => stateOf(fleet, 'b-refusing') === 'Backoff REQUEST/STATUS_401');
    assert.equal(stateOf(fleet, 'a-silent'), 'Engaging REQUEST');
    assert.equal(stateOf(fleet, 'e-insecure'), 'Backoff RESOLVE/SERVER_INSECURE');
    assert.ok((await plugin.runs()) >= 1);
  });

  test('is tried at once when its profile comes to resolve in another way, not at its heartbeats', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const clock = new ManualClock();
    publish('one', 'https://127.0.0.1:1');
    const fleet = run({ clock });
    await fleet.synced();
    const { since } = fleet.list()[0] ?? {};
    const cluster = await spoke();
    for (let i = 0; i < 5; i++) publish('one', 'https://127.0.0.1:1', { heartbeat: String(i) });
    publish('two', cluster);
    await until(t, () => isEngaged(fleet, 'two'));
    assert.equal(stateOf(fleet, 'one'), 'Backoff REQUEST/CONNECT_FAILED');
    assert.equal(fleet.list()[0]?.since, since);
    publish('one', cluster);
    await until(t, () => isEngaged(fleet, 'one'));
  });

  test('while its plugin runs, or waits for a place, is given up when its profile goes, and not after engageTimeoutMs', async (t) => {
    const { publish, spoke, plugin, run, withdraw } = await startOne(t);
    const clock = new ManualClock();
    await plugin.answer({ token: 'token-1', delayMs: 30_000 });
    publish('two', await spoke());
    const fleet = run({ clock });
    await until(
      t,
      () => stateOf(fleet, 'one') === 'Engaging CREDENTIAL' && stateOf(fleet, 'two') === 'Engaging CREDENTIAL',
    );
    // Or it would still be writing into its folder when that is removed.
    await until(t, async () => 'PATH' in (await plugin.lastEnvironment()));
    withdraw('two');
    await until(t, () => stateOf(fleet, 'two') === 'none');
    // Longer than engageTimeoutMs: at the start of a large fleet, plugins wait for a place.
    clock.advance(600_000);
    assert.equal(stateOf(fleet, 'one'), 'Engaging CREDENTIAL');
  });
});
