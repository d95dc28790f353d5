import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { Attachment } from '../../../src/fleet/controller/attachment.ts';
import { type ControllerContext, clusterPlace } from '../../../src/fleet/controller/place.ts';
import { readController } from '../../../src/fleet/controller/settings.ts';
import { WorkQueue } from '../../../src/fleet/controller/work-queue.ts';
import type { ReconcileRequest } from '../../../src/fleet/index.ts';
import { configMaps, map, note, startEngaged, startOne } from '../../fixtures/controllers.ts';
import { stateOf } from '../../fixtures/fleet-hub.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { problemsIn } from '../../fixtures/thrown.ts';
import { until } from '../../fixtures/until.ts';

const templates = { on: 'hub', apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' } as const;
const sameName = ({ metadata: { name } }: { readonly metadata: { readonly name: string } }) => [
  { name, namespace: 'default' },
];

describe('a controller that watches the hub', () => {
  test('reconciles on each engaged cluster what an object of the hub maps to, also on one that comes later', async (t) => {
    const { hub, publish, spoke, run } = await startOne(t);
    hub.add(map('a'));
    publish('two', await spoke());
    const fleet = run();
    const calls: string[] = [];
    const seen = note(fleet, {
      watches: [
        {
          ...templates,
          map: (object, { cluster }) => {
            calls.push(`${cluster.name} ${object.metadata.name}`);
            return sameName(object);
          },
        },
      ],
    });
    await until(t, () => seen.length === 2);
    assert.deepEqual(seen.toSorted(), ['one/a', 'two/a']);
    assert.deepEqual(calls.toSorted(), ['fleet/one a', 'fleet/two a']);
    hub.add(map('b'));
    await until(t, () => seen.length === 4);
    publish('three', await spoke());
    await until(t, () => seen.length === 6);
    assert.deepEqual(seen.slice(4).toSorted(), ['three/a', 'three/b']);
    hub.delete(map('a'));
    await until(t, () => seen.length === 9);
    assert.deepEqual(seen.slice(6).toSorted(), ['one/a', 'three/a', 'two/a']);
  });

  test('does not wait for a cache of the hub to see what it wrote on the cluster', async (t) => {
    const { hub, cluster, run } = await startOne(t);
    // Versions of the cluster are far ahead of those of the hub.
    for (let i = 0; i < 200; i++) cluster.set({ ...map('busy'), data: { i: String(i) } });
    cluster.delete(map('busy'));
    hub.add(map('a'));
    const fleet = run({ clock: new ManualClock() });
    const seen = note(fleet, {
      watches: [{ ...templates, map: sameName }],
      reconcile: async ({ name, namespace = '' }, { cluster: { config }, object, wrote }) => {
        const body = { metadata: { name } };
        if (!object) wrote(await config.makeApiClient(CoreV1Api).createNamespacedConfigMap({ namespace, body }));
      },
    });
    await until(t, () => seen.length >= 2);
  });

  test('asks nothing more of the hub for a cluster that has left', async (t) => {
    const { hub, publish, withdraw, spoke, run } = await startOne(t);
    publish('two', await spoke());
    const fleet = run();
    const calls: string[] = [];
    const watch = {
      ...templates,
      map: (_object: unknown, { cluster }: { readonly cluster: { readonly name: string } }) => {
        calls.push(cluster.name);
        return [];
      },
    };
    note(fleet, { watches: [watch] });
    hub.add(map('a'));
    await until(t, () => calls.length === 2);
    withdraw('one');
    await until(t, () => stateOf(fleet, 'one') === 'none');
    hub.set({ ...map('a'), data: { x: 'y' } });
    // Before the change and after it.
    await until(t, () => calls.length === 4);
    hub.add(map('b'));
    await until(t, () => calls.length === 5);
    assert.deepEqual(calls.slice(2), ['fleet/two', 'fleet/two', 'fleet/two']);
  });

  test('does not begin to follow the hub for a cluster that leaves while it begins there', async (t) => {
    const { fleet, engaged, hub, logger } = await startEngaged(t);
    hub.add(map('a'));
    await Promise.all([engaged.informer(configMaps).synced(), fleet.hub.informer(configMaps).synced()]);
    const mapped = t.mock.fn(() => []);
    const watches = [{ ...templates, map: mapped }];
    const settings = readController({ name: 'follows', for: configMaps, watches, reconcile: () => {} });
    const [clock, backoff] = [new ManualClock(), { firstMs: 5, longestMs: 5, jitter: 0 }];
    const queues = new WorkQueue<ReconcileRequest>({ clock, backoff, perCluster: 1, slots: 1, ready: () => {} });
    const leaves = new AbortController();
    const place = { ...clusterPlace(engaged), signal: leaves.signal };
    const context: Partial<ControllerContext> = { hub: fleet.hub, logger, clock };
    // It needs no more than this of a fleet.
    const attachment = new Attachment(place, queues.queueOf('one'), settings, context as ControllerContext);
    const begun = attachment.start();
    leaves.abort(new Error('it leaves'));
    await assert.rejects(begun, /it leaves/);
    assert.equal(mapped.mock.callCount(), 0);
  });

  test('waits for a cache of the hub that cannot be read, lets go of clusters meanwhile, and begins when it can', async (t) => {
    const { hub, publish, withdraw, spoke, run, warnings } = await startOne(t, ['a']);
    publish('two', await spoke());
    let isForbidden = true;
    hub.failNext(403, 1_000, ({ url }) => isForbidden && url.includes('/secrets'));
    const clock = new ManualClock();
    const fleet = run({ clock });
    const seen = note(fleet, { watches: [{ on: 'hub', apiVersion: 'v1', kind: 'Secret', map: () => [] }] });
    await fleet.synced();
    withdraw('two');
    await until(t, () => stateOf(fleet, 'two') === 'none');
    assert.deepEqual(seen, []);
    assert.match(warnings.join('\n'), /Secret.*status 403/);
    isForbidden = false;
    clock.advance(await clock.waiting((ms) => ms >= 800 && ms < 30_000));
    await until(t, () => seen.length === 1);
  });

  test('has options that are looked at', async (t) => {
    const { run } = await startOne(t);
    const fleet = run();
    const problemsOf = (options: object) => problemsIn(() => note(fleet, options));
    const wrong = (on: string) => ({ watches: [{ ...templates, on, map: () => [] }] });
    assert.deepEqual(problemsOf(wrong('hubs')), ['watches[0].on must be hub, clusters or fleet']);
    assert.deepEqual(problemsOf(wrong('clusters')), [
      "watches[0].on must be hub, or left out for objects of the same cluster: clusters is for controllers with for.on: 'hub'",
    ]);
    assert.deepEqual(problemsOf({ watches: [{ on: 'fleet', graceMs: 0, kind: 'ConfigMap' }] }).toSorted(), [
      'watches[0].graceMs must be milliseconds from 1 to 2147483647',
      'watches[0].kind is not an option',
      'watches[0].map must be a function that returns requests',
    ]);
    assert.deepEqual(problemsOf({ for: { ...configMaps, on: 'cluster' } }), [
      'for.on must be hub, or left out for objects of clusters',
    ]);
  });
});

describe('the handle of a controller', () => {
  test('queues an item on one cluster, or on every engaged one', async (t) => {
    const { publish, spoke, fleet: make } = await startOne(t);
    publish('two', await spoke());
    const fleet = make();
    const seen: string[] = [];
    const handle = fleet.controller({
      name: 'x',
      for: configMaps,
      reconcile: ({ name, namespace }, { cluster }) => void seen.push(`${cluster.name} ${namespace} ${name}`),
    });
    assert.equal(handle.enqueue({ name: 'early' }), false, 'no cluster is engaged yet');
    const running = fleet.run();
    await fleet.synced();
    assert.equal(handle.enqueue({ cluster: 'fleet/one', namespace: 'default', name: 'a' }), true);
    assert.equal(handle.enqueue({ cluster: 'fleet/gone', namespace: 'default', name: 'a' }), false);
    await until(t, () => seen.length === 1);
    assert.equal(handle.enqueue({ name: 'b' }), true);
    await until(t, () => seen.length === 3);
    assert.equal(seen[0], 'fleet/one default a');
    assert.deepEqual(seen.slice(1).toSorted(), ['fleet/one undefined b', 'fleet/two undefined b']);
    await fleet.close();
    await running;
    assert.equal(handle.enqueue({ name: 'late' }), false);
  });

  test('refuses what is no request', async (t) => {
    const { run } = await startOne(t);
    const fleet = run();
    const { enqueue } = fleet.controller({ name: 'x', for: configMaps, reconcile: () => {} });
    const onHub = fleet.controller({ name: 'y', for: { ...configMaps, on: 'hub' }, reconcile: () => {} });
    for (const [request, said] of [
      [undefined, /enqueue of controller x: request: must be an object with a name/],
      [{ name: '' }, /name: must be a name, and is empty/],
      [{ name: 'a', namespace: 5 }, /namespace: must be a namespace, and is Number/],
      [{ name: 'a', cluster: {} }, /cluster: must be the name of a ClusterProfile: namespace\/name, and is Object/],
    ] as const) {
      assert.throws(() => enqueue(request as never), said);
    }
    const withCluster = { name: 'a', cluster: 'fleet/one' };
    assert.throws(() => onHub.enqueue(withCluster), /cluster: must be left out: objects of the hub have no cluster/);
  });
});
