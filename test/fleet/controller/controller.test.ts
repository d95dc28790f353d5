import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, test } from 'node:test';
import {
  type Cluster,
  type ControllerOptions,
  type Fleet,
  FleetError,
  type KubernetesObject,
} from '../../../src/fleet/index.ts';
import type { FakeCluster } from '../../../src/testing/index.ts';
import { isEngaged, startHub, stateOf } from '../../fixtures/fleet-hub.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { until } from '../../fixtures/until.ts';

interface ConfigMap extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

const configMaps = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' } as const;
const map = (name: string, more: object = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...more } });

/** A controller that notes what it is asked, as `cluster/name`. */
function note(fleet: Fleet, options: Partial<ControllerOptions<ConfigMap>> = {}) {
  const seen: string[] = [];
  const { reconcile = () => {}, ...rest } = options;
  fleet.controller<ConfigMap>({
    name: 'notes',
    for: configMaps,
    ...rest,
    reconcile: (request, context) => {
      seen.push(`${context.cluster.profile.metadata.name}/${request.name}`);
      return reconcile(request, context);
    },
  });
  return seen;
}

/** A gate that a reconcile waits at. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { promise, open: () => resolve() };
}

async function startOne(t: Parameters<typeof startHub>[0], maps: readonly string[] = []) {
  const parts = await startHub(t);
  const cluster: FakeCluster = await parts.spoke();
  for (const name of maps) cluster.add(map(name));
  parts.publish('one', cluster);
  return { ...parts, cluster };
}

describe('a controller', () => {
  test('is asked for what is there, what changes and what goes, on each cluster', async (t) => {
    const { publish, spoke, cluster, run } = await startOne(t, ['a']);
    const other = await spoke();
    other.add(map('b'));
    publish('two', other);
    const fleet = run();
    const objects: (string | undefined)[] = [];
    const seen = note(fleet, { reconcile: (_request, { object }) => void objects.push(object?.data?.v) });
    await until(t, () => seen.includes('one/a') && seen.includes('two/b'));
    cluster.set({ ...map('a'), data: { v: '2' } });
    await until(t, () => objects.includes('2'));
    other.delete(map('b'));
    await until(t, () => seen.filter((entry) => entry === 'two/b').length === 2);
    assert.equal(objects.at(-1), undefined);
    assert.equal(seen.length, 4);
  });

  test('begins on a cluster when everything that it reads is there', async (t) => {
    const { cluster, run } = await startOne(t, ['a']);
    const secrets = gate();
    cluster.failNext('hang', 1, ({ url }) => url.includes('/secrets'));
    const clock = new ManualClock();
    const fleet = run({ clock });
    const seen = note(fleet, { watches: [{ apiVersion: 'v1', kind: 'Secret', map: () => [] }] });
    await until(
      t,
      () => isEngaged(fleet, 'one') && [...fleet.get('fleet/one').informers].some(({ hasSynced }) => hasSynced),
    );
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(seen, []);
    secrets.open();
    clock.advance(60_000);
    clock.advance(await clock.waiting((ms) => ms >= 800 && ms < 30_000));
    await until(t, () => seen.length > 0);
  });

  test('hears of owned objects and of others that are mapped', async (t) => {
    const { cluster, run } = await startOne(t, ['owner', 'mapped']);
    const fleet = run();
    const seen = note(fleet, {
      owns: [{ apiVersion: 'v1', kind: 'Secret' }],
      watches: [
        {
          apiVersion: 'v1',
          kind: 'Service',
          map: ({ metadata }, { name }) =>
            name === 'fleet/one' ? [{ name: metadata.labels?.for ?? '', namespace: 'default' }] : [],
        },
      ],
    });
    await until(t, () => seen.length === 2);
    const ownerOf = (controller: boolean) => [
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'x', controller },
    ];
    const secret = (name: string, controller: boolean) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, ownerReferences: ownerOf(controller) },
    });
    cluster.add(secret('not-controlled', false));
    cluster.add(secret('s', true));
    await until(t, () => seen.filter((entry) => entry === 'one/owner').length === 2);
    cluster.delete(secret('s', true));
    await until(t, () => seen.filter((entry) => entry === 'one/owner').length === 3);
    const service = (to: string) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'x', labels: { for: to } },
      spec: {},
    });
    cluster.add(service('mapped'));
    await until(t, () => seen.filter((entry) => entry === 'one/mapped').length === 2);
    cluster.set(service('elsewhere'));
    // What it was mapped to before is asked for, too.
    await until(t, () => seen.filter((entry) => entry === 'one/mapped').length === 3 && seen.includes('one/elsewhere'));
  });

  test('is asked again after a failure, with growing pauses, and as it asks itself', async (t) => {
    const { run, warnings } = await startOne(t, ['a']);
    const clock = new ManualClock();
    const fleet = run({ clock });
    let calls = 0;
    note(fleet, {
      reconcile: async () => {
        calls += 1;
        if (calls <= 4) throw new Error('not yet');
        return { requeueAfterMs: 45_000 };
      },
    });
    for (const ms of [5, 10, 20, 40]) {
      assert.equal(await clock.waiting((wait) => wait === ms), ms);
      clock.advance(ms);
    }
    await clock.waiting((ms) => ms === 45_000);
    assert.equal(calls, 5);
    clock.advance(45_000);
    await until(t, () => calls === 6);
    const failures = warnings.filter((line) => line.includes('not yet'));
    assert.deepEqual(failures, ['reconcile of default/a on fleet/one failed (error, try 1): not yet']);
  });

  test('is told of a wrong answer as of an error', async (t) => {
    const { run, warnings } = await startOne(t, ['a']);
    const fleet = run();
    note(fleet, { reconcile: () => ({ requeueAfterMs: Number.NaN }) });
    await until(t, () =>
      warnings.some((line) => line.includes('reconcile returned requeueAfterMs NaN: it must be milliseconds')),
    );
  });

  test('works on so many at once, and on so many of one cluster', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    for (const name of ['one', 'two', 'three']) {
      const cluster = await spoke();
      cluster.add(Array.from({ length: 5 }, (_, i) => map(`m-${i}`)));
      publish(name, cluster);
    }
    const fleet = run();
    const hold = gate();
    const active = new Map<Cluster, number>();
    const most = { all: 0, one: 0 };
    let done = 0;
    note(fleet, {
      concurrency: 5,
      perClusterConcurrency: 2,
      reconcile: async (_request, { cluster }) => {
        active.set(cluster, (active.get(cluster) ?? 0) + 1);
        most.one = Math.max(most.one, active.get(cluster) ?? 0);
        most.all = Math.max(
          most.all,
          [...active.values()].reduce((sum, count) => sum + count, 0),
        );
        await hold.promise;
        active.set(cluster, (active.get(cluster) ?? 0) - 1);
        done += 1;
      },
    });
    await fleet.synced();
    // One place of the five is for a cluster that has none: whether it is taken depends on who came first.
    await until(t, () => most.all >= 4 && most.one === 2);
    hold.open();
    await until(t, () => done === 15);
    assert.ok(most.all <= 5, `${most.all} at once`);
    assert.equal(most.one, 2);
  });

  test('never works on one object twice at once', async (t) => {
    const { cluster, run } = await startOne(t, ['a']);
    const fleet = run();
    const hold = gate();
    let active = 0;
    const seen = note(fleet, {
      reconcile: async () => {
        active += 1;
        assert.equal(active, 1);
        await hold.promise;
        active -= 1;
      },
    });
    await until(t, () => active === 1);
    for (let i = 0; i < 3; i++) cluster.set({ ...map('a'), data: { i: String(i) } });
    await until(t, () => fleet.get('fleet/one').informer<ConfigMap>(configMaps).get('a', 'default')?.data?.i === '2');
    assert.equal(seen.length, 1);
    hold.open();
    await until(t, () => seen.length === 2);
    assert.equal(active, 0);
  });

  test('whose reconcile takes too long gets its signal, and the item is tried again', async (t) => {
    const { run } = await startOne(t, ['a']);
    const clock = new ManualClock();
    const fleet = run({ clock });
    const reasons: unknown[] = [];
    const seen = note(fleet, {
      reconcileTimeoutMs: 1_000_000,
      reconcile: (_request, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason);
            reject(signal.reason);
          });
        }),
    });
    await until(t, () => seen.length === 1);
    clock.advance(1_000_000);
    await clock.waiting((ms) => ms === 5);
    assert.ok(reasons[0] instanceof FleetError);
    assert.equal(reasons[0].message, 'reconcile of default/a did not end within 1000000 ms');
    clock.advance(5);
    await until(t, () => seen.length === 2);
  });

  test('whose reconcile never ends loses its place, and nobody else works on that item', async (t) => {
    const { cluster, run, warnings } = await startOne(t, ['a', 'b']);
    const clock = new ManualClock();
    const hold = gate();
    t.after(() => hold.open());
    const fleet = run({ clock });
    const seen = note(fleet, {
      concurrency: 1,
      reconcileTimeoutMs: 20_000,
      reconcile: ({ name }) => (name === 'a' ? hold.promise : undefined),
    });
    await until(t, () => seen.length === 1);
    clock.advance(20_000);
    clock.advance(5_000);
    await until(t, () => seen.length === 2);
    assert.ok(warnings.some((line) => line.includes('nor when its signal aborted')));
    cluster.set({ ...map('a'), data: { again: 'x' } });
    cluster.set({ ...map('b'), data: { again: 'x' } });
    await until(t, () => seen.length === 3);
    assert.deepEqual(seen, ['one/a', 'one/b', 'one/b']);
    hold.open();
    await until(t, () => seen.length === 4);
    assert.equal(seen[3], 'one/a');
  });

  test("of a kind that one cluster has not is that cluster's trouble only", async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const [without, withIt] = [await spoke(), await spoke()];
    const crd = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'things.example.dev' },
      spec: {
        group: 'example.dev',
        scope: 'Namespaced',
        names: { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    };
    withIt.add(crd);
    withIt.add({ apiVersion: 'example.dev/v1', kind: 'Thing', metadata: { name: 't' } });
    publish('without', without);
    publish('with', withIt);
    const fleet = run();
    const seen = note(fleet, { for: { apiVersion: 'example.dev/v1', kind: 'Thing' } });
    await until(t, () => seen.includes('with/t'));
    await fleet.synced();
    assert.equal(stateOf(fleet, 'with'), 'Engaged ENGAGED');
    assert.equal(stateOf(fleet, 'without'), 'Engaged WATCH_FAILING');
    assert.match(
      fleet.list().find(({ name }) => name === 'fleet/without')?.message ?? '',
      /Thing \(example\.dev\/v1\): not_found: the server does not serve Thing/,
    );
  });

  test('finds owners where the server does not say what it serves', async (t) => {
    const { cluster, run } = await startOne(t, ['owner']);
    cluster.failNext(403, 1_000_000, ({ url }) => url === '/api/v1');
    const fleet = run();
    const requests: string[] = [];
    note(fleet, {
      owns: [{ apiVersion: 'v1', kind: 'Secret' }],
      for: { apiVersion: 'v1', kind: 'ConfigMap' },
      reconcile: (request, { object }) => {
        requests.push(`${request.namespace}/${request.name} ${object ? 'is there' : 'is gone'}`);
      },
    });
    await until(t, () => requests.length === 1);
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'x', controller: true }];
    cluster.add({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', ownerReferences } });
    await until(t, () => requests.length === 2);
    assert.deepEqual(requests, ['default/owner is there', 'default/owner is there']);
  });

  test('that cannot begin says so, and begins when it can', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const crd = (kind: string, plural: string) => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.example.dev` },
      spec: {
        group: 'example.dev',
        scope: 'Namespaced',
        names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    });
    const cluster = await spoke({ customResourceDefinitions: [crd('Main', 'mains')] });
    let asked = 0;
    let away = true;
    // The kind that is missing makes it ask again.
    cluster.failNext(503, 1_000_000, ({ url }) => {
      if (url !== '/apis/example.dev/v1' || !away) return false;
      asked += 1;
      return asked > 1;
    });
    publish('one', cluster);
    const clock = new ManualClock();
    const fleet = run({ clock });
    const seen = note(fleet, {
      for: { apiVersion: 'example.dev/v1', kind: 'Main' },
      owns: [{ apiVersion: 'example.dev/v1', kind: 'Sub' }],
    });
    await until(t, () => fleet.list()[0]?.message.includes('controller notes cannot begin on fleet/one') === true);
    away = false;
    cluster.add(crd('Sub', 'subs'));
    cluster.add({ apiVersion: 'example.dev/v1', kind: 'Main', metadata: { name: 'm' } });
    await until(t, () => {
      if (clock.waits.some((ms) => ms >= 800 && ms < 30_000)) clock.advance(2_000);
      return seen.length > 0 && stateOf(fleet, 'one') === 'Engaged ENGAGED';
    });
    assert.deepEqual(seen, ['one/m']);
  });

  test('works on a cluster though all the others hang', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const hung = await spoke();
    hung.add(Array.from({ length: 5 }, (_, i) => map(`m-${i}`)));
    for (let i = 0; i < 3; i++) publish(`hung-${i}`, hung);
    const healthy = await spoke();
    publish('healthy', healthy);
    const fleet = run();
    let active = 0;
    const seen = note(fleet, {
      concurrency: 8,
      reconcile: (_request, { cluster: { name }, signal }) => {
        if (name === 'fleet/healthy') return;
        active += 1;
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    });
    await fleet.synced();
    await until(t, () => active >= 6);
    for (let i = 0; i < 3; i++) {
      healthy.add(map(`change-${i}`));
      await until(t, () => seen.includes(`healthy/change-${i}`));
    }
    // The third may have had its first place of those that are kept.
    assert.ok(active <= 7, `${active} at once`);
  });

  test('may come when clusters are engaged already', async (t) => {
    const { run } = await startOne(t, ['a']);
    const fleet = run();
    await fleet.synced();
    const seen = note(fleet);
    await until(t, () => seen.length === 1);
  });

  test('names every bad option at once, and has a name of its own', async (t) => {
    const { fleet: make } = await startHub(t);
    const fleet = make();
    const wrong = {
      name: '',
      for: { kind: 'Pod' },
      concurrency: 0,
      reconcile: 1,
      watchs: [],
    } as unknown as ControllerOptions;
    assert.throws(
      () => fleet.controller(wrong),
      /name: must be a name[\s\S]*for\.apiVersion: must be v1[\s\S]*concurrency: must be a whole number[\s\S]*reconcile: must be a function[\s\S]*watchs: is not an option \(did you mean watches\?\)/,
    );
    note(fleet);
    assert.throws(() => note(fleet), /notes is the name of another controller of this fleet/);
  });
});

describe('when a cluster is disengaged', () => {
  test('its items go, its reconciles get their signal and some time, and the others go on', async (t) => {
    const { publish, withdraw, spoke, cluster, run } = await startOne(t, ['a', 'b', 'c', 'd', 'e', 'f']);
    const other = await spoke();
    publish('two', other);
    const fleet = run();
    const aborted: string[] = [];
    let ended = 0;
    const seen = note(fleet, {
      perClusterConcurrency: 2,
      reconcile: async ({ name }, { cluster: { name: on }, signal }) => {
        if (on !== 'fleet/one') return;
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        aborted.push(name);
        ended += 1;
      },
    });
    await until(t, () => seen.length === 2);
    const engaged = fleet.get('fleet/one');
    withdraw('one');
    await until(t, () => ended === 2);
    await until(
      t,
      () =>
        engaged.config.makeApiClient !== undefined &&
        cluster.stats.openConnections >= 0 &&
        stateOf(fleet, 'one') === 'none',
    );
    assert.deepEqual(aborted.toSorted(), ['a', 'b']);
    other.add(map('after'));
    await until(t, () => seen.includes('two/after'));
    assert.equal(seen.filter((entry) => entry.startsWith('one/')).length, 2);
  });

  test('a reconcile that goes on in spite of its signal is waited for for a while, and then cannot reach the cluster', async (t) => {
    const { withdraw, publish, cluster, run, warnings } = await startOne(t, ['a']);
    const clock = new ManualClock();
    const fleet = run({ clock });
    const hold = gate();
    const requests: unknown[] = [];
    const seen = note(fleet, {
      reconcile: async (_request, { cluster: { config } }) => {
        await hold.promise;
        requests.push(await config.ready().catch((error: unknown) => error));
      },
    });
    await until(t, () => seen.length === 1);
    const engaged = fleet.get('fleet/one');
    withdraw('one');
    await until(t, () => engaged.signal.aborted);
    publish('one', cluster);
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(stateOf(fleet, 'one'), 'none', 'not engaged again before it has been let go');
    clock.advance(10_000);
    await until(t, () => isEngaged(fleet, 'one'));
    assert.ok(
      warnings.some((line) =>
        line.startsWith('reconciles of fleet/one go on though their signal aborted 10000 ms ago'),
      ),
    );
    hold.open();
    await until(t, () => requests.length >= 1);
    assert.equal(Reflect.get(Object(requests[0]), 'code'), 'CONFIG_CLOSED');
  });

  test('a reconcile that never ends is given up: no timer, no place and no warning are left of it', async (t) => {
    const { withdraw, publish, cluster, run, warnings } = await startOne(t, ['a']);
    const results: unknown[] = [];
    const told = (event: unknown) => results.push(Object(event).result);
    subscribe('clusterprofile-credentials:fleet-reconcile', told);
    t.after(() => unsubscribe('clusterprofile-credentials:fleet-reconcile', told));
    const clock = new ManualClock();
    const fleet = run({ clock });
    const hold = gate();
    t.after(() => hold.open());
    let calls = 0;
    const seen = note(fleet, {
      concurrency: 1,
      reconcile: () => {
        calls += 1;
        return calls === 1 ? hold.promise : undefined;
      },
    });
    await until(t, () => seen.length === 1);
    const engaged = fleet.get('fleet/one');
    withdraw('one');
    await until(t, () => engaged.signal.aborted);
    clock.advance(10_000);
    await until(t, () => stateOf(fleet, 'one') === 'none');
    assert.deepEqual(results, ['cancelled']);
    publish('one', cluster);
    await until(t, () => seen.length === 2);
    await fleet.close();
    const before = warnings.length;
    assert.deepEqual(clock.waits, []);
    clock.advance(1_000_000);
    hold.open();
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(warnings.length, before);
    assert.deepEqual(results, ['cancelled', 'success']);
  });

  test('and engaged again, everything on it is looked at again', async (t) => {
    const { publish, withdraw, cluster, run } = await startOne(t, ['a', 'b']);
    const fleet = run();
    const seen = note(fleet);
    await until(t, () => seen.length === 2);
    withdraw('one');
    publish('one', cluster);
    await until(t, () => seen.length === 4);
    assert.deepEqual(seen.toSorted(), ['one/a', 'one/a', 'one/b', 'one/b']);
  });
});
