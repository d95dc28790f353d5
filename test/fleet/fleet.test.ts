import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import type { Fleet } from '../../src/fleet/index.ts';
import { ConfigurationError } from '../../src/index.ts';
import { configMaps, startOne } from '../fixtures/controllers.ts';
import { isEngaged, namesOf, startHub, stateOf } from '../fixtures/fleet-hub.ts';
import { ManualClock } from '../fixtures/manual-clock.ts';
import { thrownBy } from '../fixtures/thrown.ts';
import { until } from '../fixtures/until.ts';

describe('a fleet', () => {
  test('engages the clusters that the hub describes, and follows profiles that come and go', async (t) => {
    const { publish, withdraw, spoke, run } = await startHub(t);
    const [one, two] = [await spoke(), await spoke()];
    publish('one', one);
    publish('two', two);
    const fleet = run();
    await fleet.synced();
    assert.deepEqual(namesOf(fleet.list()), ['fleet/one', 'fleet/two']);
    for (const name of ['one', 'two']) assert.equal(stateOf(fleet, name), 'Engaged ENGAGED');
    const cluster = fleet.get('fleet/one');
    assert.equal(cluster.profile.spec?.displayName, 'one');
    assert.equal(cluster.config.access.cluster.server, one.url);
    const { items } = await cluster.config.makeApiClient(CoreV1Api).listNamespace();
    assert.equal(items.length, 2);
    withdraw('one');
    await until(t, () => cluster.signal.aborted);
    const why = 'fleet/one is disengaged (PROFILE_DELETED): its ClusterProfile was deleted';
    assert.equal(cluster.signal.reason.message, why);
    assert.deepEqual(namesOf(fleet.list()), ['fleet/two']);
    publish('one', await spoke());
    await until(t, () => isEngaged(fleet, 'one'));
    assert.notEqual(fleet.get('fleet/one'), cluster);
  });

  test('says why a cluster cannot be used', async (t) => {
    const { publish, run } = await startOne(t);
    publish('dead', 'https://127.0.0.1:1');
    const fleet = run();
    const refused = (name: string, code: string, message: RegExp | string) =>
      assert.throws(() => fleet.get(name), { name: 'FleetError', code, message });
    refused('fleet/one', 'CLUSTER_NOT_FOUND', /is not in the fleet.*: the hub has not been read yet/);
    await fleet.synced();
    await until(t, () => stateOf(fleet, 'dead').startsWith('Backoff'));
    const dead = /^fleet\/dead cannot be used: it is Backoff \(REQUEST\/CONNECT_FAILED\): .*ECONNREFUSED/;
    refused('fleet/dead', 'CLUSTER_NOT_READY', dead);
    refused('fleet/onn', 'CLUSTER_NOT_FOUND', 'fleet/onn is not in the fleet');
  });

  test('looks where it is told to: in namespaces, by labels, by select', async (t) => {
    const { hub, publish, spoke, run } = await startHub(t);
    const cluster = await spoke();
    publish('a/one', cluster, { labels: { tier: 'prod' } });
    publish('a/two', cluster, { labels: { tier: 'test' } });
    publish('a/left', cluster, { labels: { tier: 'prod' } });
    publish('b/three', cluster, { labels: { tier: 'prod' } });
    publish('c/four', cluster, { labels: { tier: 'prod' } });
    const lists: string[] = [];
    hub.onRequest = ({ url }) => {
      const [, namespace] = /\/namespaces\/(\w+)\/clusterprofiles\b/.exec(url) ?? [];
      if (namespace !== undefined) lists.push(namespace);
    };
    const fleet = run({
      namespaces: ['a', 'b', 'a'],
      labelSelector: 'tier=prod',
      select: ({ metadata: { name } }) => name !== 'left',
    });
    await fleet.synced();
    assert.deepEqual(namesOf(fleet.list()), ['a/one', 'b/three']);
    assert.deepEqual(lists.sort(), ['a', 'b'], 'a namespace that is named twice is watched once');
    const message = 'a/left is not in the fleet: select leaves it out';
    assert.throws(() => fleet.get('a/left'), { name: 'FleetError', code: 'CLUSTER_NOT_FOUND', message });
  });

  test('ends in order when it is told to, and cannot run twice', async (t) => {
    const { fleet: make } = await startOne(t);
    const clock = new ManualClock();
    const fleet = make({ clock });
    const stop = new AbortController();
    const running = fleet.run({ signal: stop.signal });
    await assert.rejects(fleet.run(), /run has been called before/);
    await fleet.synced();
    const cluster = fleet.get('fleet/one');
    stop.abort();
    await running;
    assert.ok(cluster.signal.aborted);
    assert.deepEqual(fleet.list(), []);
    await until(t, () => clock.waits.length === 0);
    await assert.rejects(cluster.config.makeApiClient(CoreV1Api).listNamespace());
    await assert.rejects(fleet.synced(), { code: 'FLEET_CLOSED' });
  });

  test('that ends before it has run says so to whoever waits for it', async (t) => {
    const { fleet } = await startHub(t);
    const ends = {
      closed: (ended: Fleet) => ended.close(),
      'told to end before it begins': (ended: Fleet) => ended.run({ signal: AbortSignal.abort() }),
    };
    for (const end of Object.values(ends)) {
      const ended = fleet();
      const waiting = assert.rejects(ended.synced(), { code: 'FLEET_CLOSED' });
      await end(ended);
      await waiting;
      const late = { name: 'late', for: configMaps, reconcile: () => {} };
      assert.throws(() => ended.controller(late), { code: 'FLEET_CLOSED', message: /controller late would never run/ });
    }
  });

  test('names every bad option at once, and what can be no namespace', async (t) => {
    const { fleet } = await startHub(t);
    const wrong = {
      hub: {},
      providers: 1,
      namespaces: ['good', 'Bad', 'a/b'],
      placement: { namespace: 'x'.repeat(64), key: 'prod' },
      unhealthyGraceMs: Number.NaN,
      select: true,
      selekt: 1,
      sharding: { namespace: [], name: 'x', wieght: 1, verbose: true },
    } as object;
    const { message } = thrownBy(ConfigurationError, () => fleet(wrong));
    for (const path of [
      'hub: must be a RestConfig',
      'providers: must be',
      ...['namespaces[1]', 'namespaces[2]', 'placement.namespace'].map(
        (path) => `${path}: must be the name of a namespace: lower case`,
      ),
      'unhealthyGraceMs: must be',
      'select: must be a function',
      'selekt: is not an option (did you mean select?)',
      'sharding.wieght: is not an option',
    ]) {
      assert.ok(message.includes(path), `${path} in ${message}`);
    }
    assert.equal(message.split('sharding.namespace').length, 2, 'each problem once');
    assert.ok(!message.includes('namespaces[0]'));
    assert.throws(() => fleet({ namespaces: [] }), /namespaces: is empty/);
  });
});
