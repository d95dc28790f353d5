import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FleetError, type HubControllerOptions, type ReconcileRequest } from '../../../src/fleet/index.ts';
import { published } from '../../fixtures/channel.ts';
import { type ConfigMap, configMaps, gate, map, ofKind, startOne } from '../../fixtures/controllers.ts';
import { isEngaged } from '../../fixtures/fleet-hub.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { turns, until } from '../../fixtures/until.ts';

const onHub = { ...configMaps, on: 'hub' } as const;

/** The options of a controller of the hub that notes the names of what it reconciles. */
function noting(options: Partial<HubControllerOptions<ConfigMap>> = {}) {
  const seen: string[] = [];
  const { reconcile = () => {}, ...rest } = options;
  const all: HubControllerOptions<ConfigMap> = {
    name: 'hub notes',
    for: onHub,
    ...rest,
    reconcile: (request, context) => {
      seen.push(request.name);
      return reconcile(request, context);
    },
  };
  return { seen, options: all };
}

describe('a controller of the hub', () => {
  test('reconciles each object once, from the start of the fleet on', async (t) => {
    const { hub, publish, spoke, fleet: make } = await startOne(t, ['of the cluster']);
    publish('two', await spoke());
    hub.add([map('a'), map('b')]);
    const fleet = make();
    const objects: (ConfigMap | undefined)[] = [];
    const { seen, options } = noting({
      reconcile: (_request, context) => {
        objects.push(context.object);
        assert.equal(Object(context).cluster, undefined);
        assert.equal(context.hub, fleet.hub.config);
        assert.equal(context.hubInformer(configMaps), fleet.hub.informer(configMaps));
      },
    });
    const { enqueue } = fleet.controller(options);
    assert.equal(enqueue({ name: 'early' }), false, 'it starts nothing before the fleet runs');
    const running = fleet.run();
    await fleet.synced();
    await until(t, () => seen.length === 2);
    assert.deepEqual(seen.toSorted(), ['a', 'b']);
    hub.set({ ...map('a'), data: { x: 'y' } });
    await until(t, () => seen.length === 3);
    assert.deepEqual(objects.at(-1)?.data, { x: 'y' });
    hub.delete(map('b'));
    await until(t, () => seen.length === 4);
    assert.equal(objects.at(-1), undefined);
    assert.equal(enqueue({ namespace: 'default', name: 'c' }), true);
    await until(t, () => seen.length === 5);
    assert.equal(seen.at(-1), 'c');
    await fleet.close();
    await running;
    assert.equal(enqueue({ namespace: 'default', name: 'd' }), false);
  });

  test('that sums up clusters begins when all of them have been tried, and their caches are filled', async (t) => {
    const { hub, cluster, publish, spoke, run } = await startOne(t);
    hub.add(map('total'));
    const other = await spoke();
    const service = ofKind('Service', 's');
    for (const each of [cluster, other]) each.add(service);
    publish('two', other);
    publish('dead', 'https://127.0.0.1:1');
    const fleet = run();
    const totals: number[] = [];
    const services = { apiVersion: 'v1', kind: 'Service' } as const;
    const count = () => fleet.clusters().reduce((sum, one) => sum + one.informer(services).list().length, 0);
    fleet.controller({
      name: 'total',
      for: { ...configMaps, on: 'hub' },
      watches: [{ ...services, on: 'clusters', map: () => [{ name: 'total', namespace: 'default' }] }],
      reconcile: () => void totals.push(count()),
    });
    await until(t, () => totals.length > 0);
    assert.equal(totals[0], 2);
    other.delete(service);
    await until(t, () => totals.at(-1) === 1);
  });

  test('that is added while the fleet runs hears of owned objects, of others on the hub, and of objects on the clusters', async (t) => {
    const { hub, cluster, publish, spoke, run } = await startOne(t);
    hub.add([map('owner'), map('mapped'), map('far')]);
    const fleet = run();
    await fleet.synced();
    const label = ({ metadata }: { metadata: { labels?: Readonly<Record<string, string>> } }): ReconcileRequest[] => [
      { name: metadata.labels?.for ?? '', namespace: 'default' },
    ];
    const from: string[] = [];
    const { seen, options } = noting({
      owns: [{ apiVersion: 'v1', kind: 'Secret' }],
      watches: [
        { apiVersion: 'v1', kind: 'Service', map: label },
        {
          on: 'clusters',
          apiVersion: 'v1',
          kind: 'Service',
          map: (object, { cluster: { name } }) => {
            from.push(name);
            return label(object);
          },
        },
      ],
    });
    fleet.controller(options);
    await until(t, () => seen.length === 3 && isEngaged(fleet, 'one'));
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'x', controller: true };
    hub.add(ofKind('Secret', 's', { ownerReferences: [owner] }));
    await until(t, () => seen.length === 4);
    assert.equal(seen.at(-1), 'owner');
    const service = (name: string) => ofKind('Service', 's', { labels: { for: name } });
    hub.add(service('mapped'));
    await until(t, () => seen.length === 5);
    assert.equal(seen.at(-1), 'mapped');
    cluster.add(service('far'));
    await until(t, () => seen.length === 6);
    assert.equal(seen.at(-1), 'far');
    assert.deepEqual(from, ['fleet/one']);
    const later = await spoke();
    later.add(service('far'));
    publish('two', later);
    await until(t, () => seen.length === 7);
    assert.deepEqual([seen.at(-1), from.at(-1)], ['far', 'fleet/two']);
  });

  test('tries again what fails, and an object whose reconciles time out does not take the place of the others', async (t) => {
    const { hub, run, warnings } = await startOne(t);
    hub.add(map('fails'));
    const clock = new ManualClock();
    const fleet = run({ clock });
    const reconciles = published(t, 'fleet-reconcile');
    const { seen, options } = noting({
      perClusterConcurrency: 2,
      reconcileTimeoutMs: 60_000,
      reconcile: async ({ name }, { signal }) => {
        if (name === 'fails') throw new Error('not today');
        if (name !== 'hangs') return;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        throw signal.reason;
      },
    });
    fleet.controller(options);
    clock.advance(await clock.waiting((ms) => ms === 5));
    await until(t, () => seen.length === 2);
    assert.match(warnings.join('\n'), /^reconcile of default\/fails on the hub failed \(error, try 1\): not today$/m);
    const { reconcileId: _, triggers: __, durationMs: ___, waitedMs: ____, ...told } = reconciles[0] ?? {};
    const expected = { controller: 'hub notes', cluster: undefined, namespace: 'default', name: 'fails' };
    assert.deepEqual(told, { ...expected, result: 'error' });
    hub.add(map('hangs'));
    await until(t, () => seen.includes('hangs'));
    clock.advance(60_000);
    clock.advance(await clock.waiting((ms) => ms === 5));
    await until(t, () => seen.filter((name) => name === 'hangs').length === 2);
    hub.add(map('other'));
    await until(t, () => seen.includes('other'));
    assert.equal(warnings.filter((line) => line.includes('not today')).length, 1);
  });

  test('is told when the fleet ends, and waited for, ten seconds at most', async (t) => {
    const { hub, run } = await startOne(t);
    hub.add([map('a'), map('b')]);
    const clock = new ManualClock();
    const fleet = run({ clock });
    const hold = gate(t);
    const reasons: unknown[] = [];
    const { seen, options } = noting({
      reconcile: async ({ name }, { signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        reasons.push(signal.reason);
        if (name === 'a') await hold.promise;
      },
    });
    fleet.controller(options);
    await until(t, () => seen.length === 2);
    let ended = false;
    const closed = fleet.close().then(() => (ended = true));
    await until(t, () => reasons.length === 2);
    for (const reason of reasons) assert.ok(reason instanceof FleetError && reason.code === 'FLEET_CLOSED');
    await clock.waiting((ms) => ms === 10_000);
    clock.advance(9_999);
    await turns();
    assert.equal(ended, false);
    clock.advance(1);
    await closed;
    assert.deepEqual(clock.waits, []);
  });
});
