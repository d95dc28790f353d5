import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import type { Fleet } from '../../src/fleet/index.ts';
import { configMaps } from '../fixtures/controllers.ts';
import { isEngaged, startHub, stateOf, thrown } from '../fixtures/fleet-hub.ts';
import { ManualClock } from '../fixtures/manual-clock.ts';
import { until } from '../fixtures/until.ts';

describe('a fleet', () => {
  test('engages the clusters that the hub describes, and can be asked for them', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const [one, two] = [await spoke(), await spoke()];
    publish('one', one);
    publish('two', two);
    const fleet = run();
    await fleet.synced();
    assert.deepEqual(
      fleet.list().map(({ name, state, reason }) => ({ name, state, reason })),
      ['one', 'two'].map((name) => ({ name: `fleet/${name}`, state: 'Engaged', reason: 'ENGAGED' })),
    );
    const cluster = fleet.get('fleet/one');
    assert.equal(cluster.profile.spec?.displayName, 'one');
    assert.equal(cluster.config.access.cluster.server, one.url);
    const { items } = await cluster.config.makeApiClient(CoreV1Api).listNamespace();
    assert.equal(items.length, 2);
  });

  test('says why a cluster cannot be used', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    publish('dead', 'https://127.0.0.1:1');
    publish('one', await spoke());
    const fleet = run();
    assert.match(thrown(() => fleet.get('fleet/one')).message, /is not in the fleet.*: the hub has not been read yet/);
    await fleet.synced();
    await until(t, () => stateOf(fleet, 'dead').startsWith('Backoff'));
    const { code, message } = thrown(() => fleet.get('fleet/dead'));
    assert.equal(code, 'CLUSTER_NOT_READY');
    assert.match(message, /^fleet\/dead cannot be used: it is Backoff \(REQUEST\/CONNECT_FAILED\): .*ECONNREFUSED/);
    assert.deepEqual(
      thrown(() => fleet.get('fleet/onn')),
      {
        code: 'CLUSTER_NOT_FOUND',
        message: 'fleet/onn is not in the fleet',
      },
    );
  });

  test('follows profiles that come and go', async (t) => {
    const { publish, withdraw, spoke, run } = await startHub(t);
    const fleet = run();
    await fleet.synced();
    assert.deepEqual(fleet.list(), []);
    publish('one', await spoke());
    await until(t, () => isEngaged(fleet, 'one'));
    const cluster = fleet.get('fleet/one');
    withdraw('one');
    await until(t, () => cluster.signal.aborted);
    assert.match(
      cluster.signal.reason.message,
      /^fleet\/one is disengaged \(PROFILE_DELETED\): its ClusterProfile was deleted$/,
    );
    assert.deepEqual(fleet.list(), []);
    publish('one', await spoke());
    await until(t, () => isEngaged(fleet, 'one'));
    assert.notEqual(fleet.get('fleet/one'), cluster);
  });

  test('takes a config of ours for the hub', async (t) => {
    const { hub, publish, spoke, providers, run } = await startHub(t);
    hub.setTokens({ 'token-1': 'controller' });
    publish('one', await spoke());
    const { url: server, certificateAuthorityData } = hub;
    const cluster = { server, 'certificate-authority-data': certificateAuthorityData };
    const config = providers.getConfig({ status: { accessProviders: [{ name: 'fake', cluster }] } });
    const fleet = run({ hub: config });
    await fleet.synced();
    assert.ok(isEngaged(fleet, 'one'));
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
    assert.deepEqual(
      fleet.list().map(({ name }) => name),
      ['a/one', 'b/three'],
    );
    assert.deepEqual(lists.sort(), ['a', 'b'], 'a namespace that is named twice is watched once');
    assert.deepEqual(
      thrown(() => fleet.get('a/left')),
      {
        code: 'CLUSTER_NOT_FOUND',
        message: 'a/left is not in the fleet: select leaves it out',
      },
    );
  });

  test('ends in order when it is told to, and cannot run twice', async (t) => {
    const { publish, spoke, fleet: make } = await startHub(t);
    publish('one', await spoke());
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

  test('refuses what can be no namespace', async (t) => {
    const { fleet } = await startHub(t);
    const wrong = { namespaces: ['good', 'Bad', 'a/b'], placement: { namespace: 'x'.repeat(64), key: 'prod' } };
    assert.throws(
      () => fleet(wrong),
      (error: Error) => {
        for (const path of ['namespaces[1]', 'namespaces[2]', 'placement.namespace'])
          assert.ok(error.message.includes(`${path}: must be the name of a namespace: lower case`), error.message);
        return !error.message.includes('namespaces[0]');
      },
    );
  });

  test('names every bad option at once', async (t) => {
    const { fleet } = await startHub(t);
    const wrong = {
      hub: {},
      providers: 1,
      namespaces: [],
      unhealthyGraceMs: Number.NaN,
      select: true,
      selekt: 1,
      sharding: { namespace: [], name: 'x', wieght: 1, verbose: true },
    } as object;
    assert.throws(
      () => fleet(wrong),
      (error: Error) => {
        for (const path of [
          'hub: must be a RestConfig',
          'providers: must be',
          'namespaces: is empty',
          'unhealthyGraceMs: must be',
          'select: must be a function',
          'selekt: is not an option (did you mean select?)',
          'sharding.wieght: is not an option',
        ]) {
          assert.ok(error.message.includes(path), `${path} in ${error.message}`);
        }
        assert.equal(error.message.split('sharding.namespace').length, 2, 'each problem once');
        return true;
      },
    );
  });
});
