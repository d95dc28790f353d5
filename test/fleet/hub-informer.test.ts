import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ConfigMap, configMaps, gate, map } from '../fixtures/controllers.ts';
import { profileKind, startHub } from '../fixtures/fleet-hub.ts';
import { ManualClock } from '../fixtures/manual-clock.ts';
import { until } from '../fixtures/until.ts';

describe('fleet.hub', () => {
  test('has caches of the hub, shared by equal options, before the fleet runs and until it ends', async (t) => {
    const { hub, fleet: make } = await startHub(t);
    hub.add(map('a'));
    const fleet = make();
    const informer = fleet.hub.informer<ConfigMap>(configMaps);
    assert.equal(fleet.hub.informer({ ...configMaps }), informer);
    await informer.synced();
    assert.equal(informer.get('a', 'default')?.metadata.name, 'a');
    const running = fleet.run();
    hub.set({ ...map('a'), data: { x: 'y' } });
    await until(t, () => informer.get('a', 'default')?.data?.x === 'y');
    await fleet.close();
    await running;
    assert.equal(informer.get('a', 'default')?.data?.x, 'y', 'it stays readable');
    assert.throws(() => fleet.hub.informer({ ...configMaps, namespace: 'other' }), { code: 'FLEET_CLOSED' });
  });

  test('has the profiles until the fleet ends, which asks nothing about those that change meanwhile', async (t) => {
    const { hub, publish, run } = await startHub(t);
    hub.add(map('a'));
    const asked: string[] = [];
    const fleet = run({ select: ({ metadata: { name } }) => asked.push(name) > 0 });
    const work = gate(t);
    const reconcile = t.mock.fn(() => work.promise);
    fleet.controller({ name: 'slow', for: { ...configMaps, on: 'hub' }, reconcile });
    await until(t, () => reconcile.mock.callCount() > 0);
    const closing = fleet.close();
    publish('late', 'https://x');
    await until(t, () => fleet.hub.informer(profileKind).list().length === 1);
    work.open();
    await closing;
    assert.deepEqual(asked, []);
  });

  test('ends its caches also where the fleet never ran', async (t) => {
    const { hub, fleet: make } = await startHub(t);
    const fleet = make();
    const informer = fleet.hub.informer(configMaps);
    await informer.synced();
    const reading = (async () => {
      const seen: string[] = [];
      for await (const { object } of informer) seen.push(object.metadata.name);
      return seen;
    })();
    await fleet.close();
    hub.add(map('later'));
    assert.ok(!(await reading).includes('later'));
  });

  test('is waited for by synced, unless it fails', async (t) => {
    const { hub, fleet: make, warnings } = await startHub(t);
    hub.add(map('a'));
    hub.failNext(403, 1_000, ({ url }) => url.includes('/secrets'));
    const fleet = make({ clock: new ManualClock() });
    const readable = fleet.hub.informer(configMaps);
    const forbidden = fleet.hub.informer({ apiVersion: 'v1', kind: 'Secret' });
    const running = fleet.run();
    await fleet.synced();
    assert.ok(readable.hasSynced);
    assert.equal(forbidden.problem?.reason, 'forbidden');
    assert.match(warnings.join('\n'), /Secret.*status 403/);
    await fleet.close();
    await running;
  });
});
