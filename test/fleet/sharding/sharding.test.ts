import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { Registry } from 'prom-client';
import { ApiServer } from '../../../src/fleet/api-server.ts';
import { FleetError, FleetMetrics } from '../../../src/fleet/index.ts';
import { labelsOf } from '../../../src/fleet/sharding/names.ts';
import { ConfigurationError } from '../../../src/index.ts';
import { kubeConfigFor } from '../../fixtures/fleet-hub.ts';
import { engagedIn, fleetErrorOf, shared, startReplicas } from '../../fixtures/replicas.ts';
import { until } from '../../fixtures/until.ts';

const clusters = 16;

describe('replicas that share a fleet', () => {
  test('work on all clusters, and no two on the same', async (t) => {
    const { start } = await startReplicas(t, clusters);
    const [one, two] = [start('one'), start('two')];
    one.run();
    two.run();
    await shared(t, clusters, one, two);
    assert.ok(engagedIn(one.fleet).length > 0 && engagedIn(two.fleet).length > 0, 'both have some');
    const [name = ''] = engagedIn(two.fleet);
    const { state, reason, owner, message } = one.fleet.list().find((entry) => entry.name === name) ?? {};
    assert.deepEqual({ state, reason, owner }, { state: 'NotOwned', reason: 'OWNED_BY_OTHER', owner: 'two' });
    assert.match(String(message), /^two owns its shard \d$/);
    const error = fleetErrorOf(() => one.fleet.get(name));
    assert.deepEqual([error.code, error.owner], ['CLUSTER_NOT_OWNED', 'two']);
    assert.match(error.message, /cannot be used \(owner: two\)/);
  });

  test('have their shares of the shards, and one that works alone has all', async (t) => {
    const { hub, start } = await startReplicas(t, clusters);
    const replicas = ['one', 'two', 'three'].map((identity) => start(identity));
    const [one] = replicas;
    one?.run();
    const holders = () =>
      hub
        .list({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' })
        .filter(({ metadata: { name } }) => name.startsWith('shared-shard-'))
        .map(({ spec }) => String(Object(spec).holderIdentity).replace(/_.*/, ''));
    await until(t, () => holders().filter((holder) => holder === 'one').length === 8);
    for (const { run } of replicas.slice(1)) run();
    await until(t, () => {
      const shares = Map.groupBy(holders(), (holder) => holder);
      return ['one', 'two', 'three'].every((name) => [2, 3].includes(shares.get(name)?.length ?? 0));
    });
    await shared(t, clusters, ...replicas);
  });

  test('hand a cluster over when work on it has ended, not before', async (t) => {
    const { spoke, start } = await startReplicas(t, clusters);
    spoke.add({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'work' } });
    const [one, two] = [start('one'), start('two')];
    const ending = Promise.withResolvers<void>();
    const working = new Set<string>();
    const aborted = new Set<string>();
    one.fleet.controller({
      name: 'work',
      for: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' },
      reconcile: async (_request, { cluster, signal }) => {
        working.add(cluster.name);
        signal.addEventListener('abort', () => aborted.add(cluster.name), { once: true });
        await ending.promise;
        // What was begun may still end in order.
        await cluster.config.makeApiClient(CoreV1Api).listNamespace();
        working.delete(cluster.name);
      },
    });
    const overlap: string[] = [];
    two.fleet.onEngage(({ name }) => {
      if (working.has(name)) overlap.push(name);
    });
    one.run();
    await until(t, () => working.size === clusters);
    two.run();
    await until(t, () => aborted.size > 0);
    assert.deepEqual(engagedIn(two.fleet), []);
    ending.resolve();
    await shared(t, clusters, one, two);
    assert.deepEqual(overlap, []);
    assert.deepEqual([...aborted].toSorted(), engagedIn(two.fleet));
  });

  test('take over at once from one that ends in order', async (t) => {
    const { hub, start } = await startReplicas(t, clusters);
    const [one, two] = [start('one'), start('two')];
    one.run();
    two.run();
    await shared(t, clusters, one, two);
    await one.leave();
    // The clock of the other one has not moved.
    await shared(t, clusters, two);
    const names = hub
      .list({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' })
      .map(({ metadata: { name } }) => name);
    assert.equal(names.filter((name) => name.startsWith('shared-peer-')).length, 1, 'its own Lease is gone');
  });

  test('let go of everything at the deadline, before anybody else may begin', async (t) => {
    const { hub, start } = await startReplicas(t, clusters);
    const one = start('one');
    one.run();
    await shared(t, clusters, one);
    const held = one.fleet.get('fleet/c0');
    hub.failNext('hang', 1_000_000, ({ url }) => url.includes('/leases'));
    one.clock.advance(19_000);
    assert.equal(held.signal.aborted, false);
    assert.equal((await held.config.makeApiClient(CoreV1Api).listNamespace()).items.length, 2);
    one.clock.advance(1_000);
    assert.equal(held.signal.aborted, true);
    assert.ok(held.signal.reason instanceof FleetError);
    assert.match(held.signal.reason.message, /^fleet\/c0 is disengaged \(SHARD_LOST\)/);
    await assert.rejects(held.config.makeApiClient(CoreV1Api).listNamespace(), { code: 'CLUSTER_DISENGAGED' });
    await until(t, () => one.fleet.list().every(({ state, reason }) => state === 'NotOwned' && reason === 'NO_OWNER'));
    assert.match(String(one.fleet.list()[0]?.message), /nobody owns its shard \d at the moment/);
  });

  test('send nothing after the deadline, though no timer has told them: a process may have been stopped', async (t) => {
    const { start } = await startReplicas(t, 1);
    let stopped = 0;
    const one = start('one', {}, {});
    const { clock } = one;
    const uptime = clock.uptime.bind(clock);
    clock.uptime = () => uptime() + stopped;
    one.run();
    await shared(t, 1, one);
    const { config, signal } = one.fleet.get('fleet/c0');
    stopped = 20_000;
    await assert.rejects(config.makeApiClient(CoreV1Api).listNamespace(), { code: 'CLUSTER_DISENGAGED' });
    await assert.rejects(config.fetch('/version'), { code: 'CLUSTER_DISENGAGED' });
    assert.equal(signal.aborted, false, 'by the request alone');
  });

  test('wait for news where an attempt to engage ends after the deadline, and no timer has told them', async (t) => {
    const { start } = await startReplicas(t, 2);
    const { clock, fleet, run } = start('one', { shards: 1 });
    let stopped = 0;
    const uptime = clock.uptime.bind(clock);
    clock.uptime = () => uptime() + stopped;
    const gate = Promise.withResolvers<void>();
    // The other one goes on: its shard is not left.
    fleet.onEngage(async ({ name, config }) => {
      if (name !== 'fleet/c0') return;
      await gate.promise;
      await config.fetch('/version');
    });
    run();
    await until(
      t,
      () =>
        fleet
          .list()
          .map(({ reason }) => reason)
          .join() === 'HANDLERS,ENGAGED',
    );
    stopped = 20_000;
    gate.resolve();
    // Who tried again and again without a wait would let no timer and no answer come.
    await until(t, () => fleet.list().every(({ reason }) => reason !== 'HANDLERS'));
    clock.advance(20_000);
    await until(t, () => fleet.list().every(({ state }) => state === 'NotOwned'));
  });

  test('replace one that is dead after the duration of its Leases', async (t) => {
    const { hub, start } = await startReplicas(t, clusters);
    const renewTime = '2026-01-01T00:00:00.000000Z';
    const lease = (name: string, role: string, annotations: Record<string, string> = {}) => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        namespace: 'default',
        name: `shared-${name}`,
        labels: { 'clusterprofile-credentials/fleet': 'shared', 'clusterprofile-credentials/role': role },
        annotations,
      },
      spec: {
        holderIdentity: 'dead_0',
        leaseDurationSeconds: 30,
        renewTime,
        acquireTime: renewTime,
        leaseTransitions: 0,
      },
    });
    const facts = { identity: 'dead', shards: '8', weight: '1' };
    const named = Object.entries(facts).map(([key, value]) => [`clusterprofile-credentials/${key}`, value]);
    hub.add([
      lease('peer-dead', 'peer', Object.fromEntries(named)),
      ...Array.from({ length: 8 }, (_, shard) => lease(`shard-${shard}`, 'shard')),
    ]);
    const one = start('one');
    one.run();
    await until(t, () => one.fleet.list().filter(({ owner }) => owner === 'dead').length === clusters);
    const started = one.clock.uptime();
    await one.passUntil(() => engagedIn(one.fleet).length > 0);
    assert.ok(one.clock.uptime() - started >= 30_000);
    await shared(t, clusters, one);
    await until(t, () => hub.get(lease('peer-dead', 'peer')) === undefined);
  });

  test('refuse to start beside one that believes in another number of shards', async (t) => {
    const { hub, start } = await startReplicas(t, 2);
    const [one, two] = [start('one'), start('two', { shards: 16 })];
    one.run();
    await shared(t, 2, one);
    const running = two.run();
    const peers = () =>
      hub
        .list({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' })
        .filter(({ metadata }) => metadata.name.includes('-peer-'));
    await until(t, () => peers().length === 2);
    // It has seen the Lease of the other one; now it sees that this one lives.
    let ended = false;
    running.catch(() => (ended = true));
    await one.passUntil(() => ended);
    await assert.rejects(running, (error) => {
      assert.ok(error instanceof FleetError);
      assert.equal(error.code, 'SHARDS_DIFFER');
      assert.match(
        error.message,
        /^two believes in 16 shards, and one in 8: .* Give all replicas the same sharding\.shards/,
      );
      return true;
    });
    assert.equal(peers().length, 1);
    await shared(t, 2, one);
  });

  test('pass over a Lease that looks like a replica and says nothing of shards', async (t) => {
    const { hub, start } = await startReplicas(t, 2);
    const one = start('one');
    const odd = (renewTime: string) =>
      hub.set({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: {
          namespace: 'default',
          name: 'shared-peer-0123456789abcdef',
          labels: labelsOf('shared', 'peer'),
        },
        spec: { holderIdentity: 'x', leaseDurationSeconds: 3_600, renewTime },
      });
    odd('2026-01-01T00:00:00.000000Z');
    one.run();
    odd('2026-01-01T00:00:01.000000Z');
    await shared(t, 2, one);
  });

  test('wait before they give a shard away again whose Lease others write each time, and say so', async (t) => {
    const { hub, start } = await startReplicas(t, 2);
    const warnings: string[] = [];
    const logger = { warn: (_fields: object, message: string) => warnings.push(message) };
    const one = start('one', {}, { logger });
    one.run();
    await shared(t, 2, one);
    hub.failNext(409, 1_000_000, ({ method, url }) => method === 'PUT' && url.includes('/shared-shard-'));
    start('two').run();
    await until(t, () => warnings.some((line) => /it was changed by others each time/.test(line)));
  });

  test('wait for a dead one that believes in another number of shards, without asking the hub all the time', async (t) => {
    const { hub, start } = await startReplicas(t, 2);
    const one = start('one');
    one.run();
    const isPeer = ({ metadata: { name } }: { readonly metadata: { readonly name: string } }) =>
      name.includes('-peer-');
    const peers = () => hub.list({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }).filter(isPeer);
    await shared(t, 2, one);
    const [dead] = peers();
    await one.leave();
    assert.ok(dead);
    const { namespace = '', name, labels = {}, annotations = {} } = dead.metadata;
    hub.set({ ...dead, metadata: { namespace, name, labels, annotations } });
    let lists = 0;
    hub.onRequest = ({ method, url }) => {
      if (method === 'GET' && /\/leases\?labelSelector=[^&]*$/.test(url)) lists += 1;
    };
    start('two', { shards: 16 }).run();
    await until(t, () => lists > 0);
    lists = 0;
    // As many answers as these could have come for lists.
    const other = new ApiServer(kubeConfigFor(hub, 'hub'));
    for (let asked = 0; asked < 50; asked++) await (await other.get('/version', { signal: t.signal })).body.dump();
    assert.ok(lists <= 2, `${lists} lists`);
  });

  test('follow a change of weight without a restart', async (t) => {
    const { start } = await startReplicas(t, clusters);
    let weight = 1;
    const [one, two] = [start('one', { weight: () => weight }), start('two')];
    one.run();
    two.run();
    await shared(t, clusters, one, two);
    weight = 0;
    await one.passUntil(() => engagedIn(one.fleet).length === 0);
    await shared(t, clusters, one, two);
  });

  test('say so where two have the same identity, and only one of them works', async (t) => {
    const { start, warnings } = await startReplicas(t, clusters);
    const [one, two] = [start('one'), start('one')];
    one.run();
    await shared(t, clusters, one);
    two.run();
    await until(t, () =>
      warnings.some((line) => /another process \(one_[0-9a-f]{8}\) has the identity one/.test(line)),
    );
    assert.deepEqual(engagedIn(two.fleet), []);
    await until(t, () => two.fleet.list().every(({ owner }) => owner === 'one'));
  });

  test('count what they own, what moves, and what fails', async (t) => {
    const { hub, start, warnings } = await startReplicas(t, 1);
    const registry = new Registry();
    const one = start('one', {}, { metrics: new FleetMetrics({ registry }) });
    const two = start('two');
    const value = async (line: string) => {
      const found = (await registry.metrics()).split('\n').find((text) => text.startsWith(`${line} `));
      return Number(found?.slice(line.length + 1));
    };
    one.run();
    await until(t, async () => (await value('clusterprofile_fleet_shards_owned')) === 8);
    two.run();
    await until(t, async () => (await value('clusterprofile_fleet_shards_owned')) === 4);
    assert.equal(await value('clusterprofile_fleet_peers'), 2);
    await until(t, async () => (await value('clusterprofile_fleet_shard_changes_total{change="handed_over"}')) === 4);
    await two.leave();
    await until(t, async () => (await value('clusterprofile_fleet_shard_changes_total{change="taken"}')) === 12);
    assert.equal(await value('clusterprofile_fleet_shard_unowned_seconds_count'), 4);
    hub.failNext(503, 1_000_000, ({ method, url }) => method === 'PUT' && url.includes('/leases'));
    one.clock.advance(11_000);
    await until(t, async () => (await value('clusterprofile_fleet_lease_failures_total{lease="shard"}')) >= 8);
    assert.ok((await value('clusterprofile_fleet_lease_failures_total{lease="peer"}')) >= 1);
    assert.equal(warnings.filter((line) => line.startsWith('a Lease of fleet shared cannot be written')).length, 1);
    one.clock.advance(9_000);
    await until(t, async () => (await value('clusterprofile_fleet_shard_changes_total{change="lost"}')) === 8);
    assert.equal(await value('clusterprofile_fleet_shards_owned'), 0);
  });

  test('warn once where the Leases of shards cannot be written and their own can, and again when that had passed', async (t) => {
    const { hub, start } = await startReplicas(t, 1);
    const warnings: string[] = [];
    const logger = { warn: (_fields: object, message: string) => warnings.push(message) };
    const one = start('one', {}, { logger });
    const [clock, lines] = [one.clock, () => warnings.filter((line) => line.startsWith('a Lease of fleet shared'))];
    one.run();
    await shared(t, 1, one);
    let isAway = true;
    hub.failNext(503, 1_000_000, ({ method, url }) => isAway && method === 'PUT' && url.includes('/shared-shard-'));
    const began = clock.uptime();
    await one.passUntil(() => clock.uptime() - began > 90_000);
    assert.equal(lines().length, 1, lines().join('\n'));
    isAway = false;
    const passed = clock.uptime();
    await one.passUntil(() => clock.uptime() - passed > 45_000);
    assert.equal(lines().length, 1, lines().join('\n'));
    isAway = true;
    await one.passUntil(() => lines().length === 2);
  });

  test('tell how long a shard had no owner, where who lost it takes it again', async (t) => {
    const { hub, start } = await startReplicas(t, 1);
    const one = start('one', { shards: 1 });
    const changes: { readonly change: string; readonly unownedMs?: number }[] = [];
    const listen = (event: unknown) => changes.push(event as (typeof changes)[number]); // what the channel has
    subscribe('clusterprofile-credentials:fleet-shard', listen);
    t.after(() => unsubscribe('clusterprofile-credentials:fleet-shard', listen));
    one.run();
    await shared(t, 1, one);
    let isAway = true;
    hub.failNext(403, 1_000_000, ({ url }) => isAway && url.includes('/leases'));
    await one.passUntil(() => changes.length >= 2);
    isAway = false;
    await one.passUntil(() => changes.length >= 3);
    assert.deepEqual(
      changes.slice(0, 3).map(({ change }) => change),
      ['taken', 'lost', 'taken'],
    );
    const { unownedMs } = changes[2] ?? {};
    assert.ok(unownedMs !== undefined && unownedMs < 60_000, `${unownedMs} ms`);
  });

  test('say which permission they lack, whatever they are refused', async (t) => {
    const requests = {
      GET: /\/leases\/shared-peer-/,
      list: /\/leases\?labelSelector=[^&]*$/,
      watch: /\/leases\?.*watch=/,
      PUT: /\/leases\/shared-shard-/,
      POST: /\/leases$/,
    };
    for (const [what, path] of Object.entries(requests)) {
      const { hub, start } = await startReplicas(t, 1);
      const warnings: string[] = [];
      const logger = { warn: (_fields: object, message: string) => warnings.push(message) };
      const one = start('one', { shards: 1 }, { logger });
      const method = what === what.toUpperCase() ? what : 'GET';
      hub.failNext(403, 1_000_000, (request) => request.method === method && path.test(request.url));
      one.run();
      const advice =
        'allow the verbs get, list, watch, create, update and delete on leases.coordination.k8s.io in namespace default';
      await one.passUntil(() => warnings.some((line) => line.includes(advice)));
    }
  });

  test('have options that are looked at when the fleet is made', async (t) => {
    const { start } = await startReplicas(t, 0);
    const problemsOf = (sharding: object) => {
      try {
        start('one', sharding);
      } catch (error) {
        assert.ok(error instanceof ConfigurationError);
        return error.problems.map(({ path, message }) => `${path} ${message}`);
      }
      return [];
    };
    assert.deepEqual(problemsOf({}), []);
    assert.deepEqual(problemsOf({ name: 'Shared', weight: -1, shards: 0, leaseDurationMs: 4_500 }), [
      'sharding.name must be lower case letters, digits and -, 63 at most: it is a part of the names of Leases',
      'sharding.weight must be a number from 0 to 1000, or a function that returns one',
      'sharding.shards must be a whole number from 1 to 4096',
      'sharding.leaseDurationMs must be whole seconds in milliseconds, 3_000 at least: 30_000 for 30 s',
    ]);
  });
});
