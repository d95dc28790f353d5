import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ControllerOptions } from '../../../src/fleet/index.ts';
import { gate, map, note, ofKind, startOne } from '../../fixtures/controllers.ts';
import { newNamespace } from '../../fixtures/fleet.ts';
import { isEngaged, namesOf, startHub } from '../../fixtures/fleet-hub.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { turns, until } from '../../fixtures/until.ts';

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
    const secrets = gate(t);
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
          map: ({ metadata }, { cluster: { name } }) =>
            name === 'fleet/one' ? [{ name: metadata.labels?.for ?? '', namespace: 'default' }] : [],
        },
      ],
    });
    await until(t, () => seen.length === 2);
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'x' };
    const secret = (name: string, controller: boolean) =>
      ofKind('Secret', name, { ownerReferences: [{ ...owner, controller }] });
    cluster.add(secret('not-controlled', false));
    cluster.add(secret('s', true));
    await until(t, () => seen.filter((entry) => entry === 'one/owner').length === 2);
    cluster.delete(secret('s', true));
    await until(t, () => seen.filter((entry) => entry === 'one/owner').length === 3);
    const service = (to: string) => ({ ...ofKind('Service', 'x', { labels: { for: to } }), spec: {} });
    cluster.add(service('mapped'));
    await until(t, () => seen.filter((entry) => entry === 'one/mapped').length === 2);
    cluster.set(service('elsewhere'));
    // What it was mapped to before is asked for, too.
    await until(t, () => seen.filter((entry) => entry === 'one/mapped').length === 3 && seen.includes('one/elsewhere'));
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
