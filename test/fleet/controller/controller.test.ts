import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ControllerOptions } from '../../../src/fleet/index.ts';
import { map, note, ofKind, startOne } from '../../fixtures/controllers.ts';
import { newNamespace } from '../../fixtures/fleet.ts';
import { isEngaged, namesOf, startHub } from '../../fixtures/fleet-hub.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { turns, until } from '../../fixtures/until.ts';

describe('a controller', () => {
  test('is asked for what is there, what changes and what goes, on each cluster that is engaged already or comes later', async (t) => {
    const { publish, spoke, cluster, run } = await startOne(t, ['a']);
    const other = await spoke();
    other.add(map('b'));
    const fleet = run();
    await fleet.synced();
    const objects: (string | undefined)[] = [];
    const seen = note(fleet, { reconcile: (_request, { object }) => void objects.push(object?.data?.v) });
    publish('two', other);
    await until(t, () => seen.includes('one/a') && seen.includes('two/b'));
    cluster.set({ ...map('a'), data: { v: '2' } });
    await until(t, () => objects.includes('2'));
    other.delete(map('b'));
    await until(t, () => seen.filter((entry) => entry === 'two/b').length === 2);
    assert.equal(objects.at(-1), undefined);
    assert.equal(seen.length, 4);
  });

  test('reads the namespaces of a source, and no other', async (t) => {
    const { cluster, run } = await startOne(t, []);
    for (const name of ['a', 'b', 'c']) cluster.add(newNamespace(name));
    const mapIn = (namespace: string) => ({ ...map('m'), metadata: { name: 'm', namespace } });
    for (const namespace of ['a', 'b', 'c']) cluster.add(mapIn(namespace));
    const lists: string[] = [];
    cluster.onRequest = ({ url }) => {
      if (url.includes('/configmaps?')) lists.push(url.replace(/.*namespaces.([a-z]*).*/, '$1'));
    };
    const fleet = run();
    const seen: string[] = [];
    fleet.controller({
      name: 'maps',
      for: { apiVersion: 'v1', kind: 'ConfigMap', namespaces: ['a', 'b', 'a'] },
      reconcile: ({ namespace }, { object }) => void seen.push(`${namespace} ${object?.metadata.namespace}`),
    });
    await until(t, () => seen.length === 2);
    cluster.delete(mapIn('c'));
    cluster.delete(mapIn('b'));
    await until(t, () => seen.length === 3);
    assert.deepEqual(seen, ['a a', 'b b', 'b undefined'].toSpliced(0, 2, ...seen.slice(0, 2).toSorted()));
    assert.deepEqual([...new Set(lists)].toSorted(), ['a', 'b']);
    assert.deepEqual(namesOf(fleet.clusters()), ['fleet/one']);
    const both = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'a', namespaces: ['b'] } as const;
    assert.throws(() => fleet.controller({ name: 'x', for: both, owns: [both], reconcile: () => {} }), {
      message: /for\.namespaces: is given beside namespace[\s\S]*owns\[0\]\.namespaces: is given beside namespace/,
    });
  });

  test('begins on a cluster when everything that it reads is there', async (t) => {
    const { cluster, run } = await startOne(t, ['a']);
    cluster.failNext('hang', 1, ({ url }) => url.includes('/secrets'));
    const clock = new ManualClock();
    const fleet = run({ clock });
    const seen = note(fleet, { watches: [{ apiVersion: 'v1', kind: 'Secret', map: () => [] }] });
    await until(
      t,
      () => isEngaged(fleet, 'one') && [...fleet.get('fleet/one').informers].some(({ hasSynced }) => hasSynced),
    );
    await turns();
    assert.deepEqual(seen, []);
    clock.advance(60_000);
    clock.advance(await clock.waiting((ms) => ms >= 800 && ms < 30_000));
    await until(t, () => seen.length > 0);
  });

  test('hears of owned objects, whatever version of its kind they name, and of others that are mapped', async (t) => {
    const deployments = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default' };
    const { cluster, run, warnings } = await startOne(t);
    cluster.add(['owner', 'mapped'].map((name) => ({ ...deployments, metadata: { name } })));
    const fleet = run();
    const seen = note(fleet, {
      for: deployments,
      owns: [{ apiVersion: 'v1', kind: 'Secret' }],
      watches: [
        {
          apiVersion: 'v1',
          kind: 'Service',
          map: ({ metadata }, { cluster: { name } }) =>
            name === 'fleet/one' ? [{ name: metadata.labels?.for ?? '', namespace: 'default' }] : [],
        },
      ],
      reconcile: ({ namespace }) => assert.equal(namespace, 'default'),
    });
    await until(t, () => seen.length === 2);
    const owner = { apiVersion: 'apps/v1beta1', kind: 'Deployment', name: 'owner', uid: 'x', controller: true };
    const secret = (name: string, ownerReferences: unknown) => ofKind('Secret', name, { ownerReferences });
    const owned = secret('s', [owner]);
    cluster.add(secret('not-controlled', [{ ...owner, name: 'no-controller', controller: false }]));
    cluster.add(secret('of-another-group', [{ ...owner, name: 'of-another-group', apiVersion: 'v1' }]));
    cluster.add(secret('without-owners', null));
    cluster.add(owned);
    await until(t, () => seen.filter((entry) => entry === 'one/owner').length === 2);
    cluster.delete(owned);
    await until(t, () => seen.filter((entry) => entry === 'one/owner').length === 3);
    const service = (to: string) => ({ ...ofKind('Service', 'x', { labels: { for: to } }), spec: {} });
    cluster.add(service('mapped'));
    await until(t, () => seen.filter((entry) => entry === 'one/mapped').length === 2);
    cluster.set(service('elsewhere'));
    // What it was mapped to before is asked for, too.
    await until(t, () => seen.filter((entry) => entry === 'one/mapped').length === 3 && seen.includes('one/elsewhere'));
    assert.deepEqual(new Set(seen), new Set(['one/owner', 'one/mapped', 'one/elsewhere']));
    assert.deepEqual(warnings, []);
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
      watches: [{ apiVersion: 'v1', kind: 'Pod', mapp: () => [] }],
    } as unknown as ControllerOptions;
    assert.throws(
      () => fleet.controller(wrong),
      /name: must be a name[\s\S]*for\.apiVersion: must be v1[\s\S]*concurrency: must be a whole number[\s\S]*reconcile: must be a function[\s\S]*watchs: is not an option \(did you mean watches\?\)/,
    );
    assert.throws(() => fleet.controller(wrong), /watches\[0\]\.mapp: is not an option/);
    note(fleet);
    assert.throws(() => note(fleet), /notes is the name of another controller of this fleet/);
  });
});
