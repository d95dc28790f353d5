import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { request } from 'undici';
import { type Cluster, FleetError } from '../../src/fleet/index.ts';
import { isEngaged, startHub, stateOf } from '../fixtures/fleet-hub.ts';
import { ManualClock } from '../fixtures/manual-clock.ts';
import { until } from '../fixtures/until.ts';

/** The code and message of what a function throws. */
function thrown(call: () => unknown): { readonly code: unknown; readonly message: string } {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof FleetError);
    return { code: error.code, message: error.message };
  }
  return assert.fail('it did not throw');
}

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
        message: 'fleet/onn is not in the fleet (did you mean fleet/one?)',
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

  test('that is asked whether it has synced again and again keeps nothing of who gave up', async (t) => {
    const { hub, run } = await startHub(t);
    hub.failNext('hang', 1_000_000);
    const fleet = run();
    const givenUp = async (count: number) => {
      for (let i = 0; i < count; i++) {
        const stop = new AbortController();
        const synced = fleet.synced({ signal: stop.signal });
        stop.abort(new Error('given up'));
        const error: unknown = await synced.catch((reason: unknown) => reason);
        if (!Object.is(error, stop.signal.reason)) throw error;
      }
      globalThis.gc?.();
      return process.memoryUsage().heapUsed;
    };
    const before = await givenUp(1_000);
    const count = 20_000;
    const bytes = ((await givenUp(count)) - before) / count;
    assert.ok(bytes < 500, `${bytes} bytes of each`);
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
    const { publish, spoke, run } = await startHub(t);
    const cluster = await spoke();
    publish('a/one', cluster, { labels: { tier: 'prod' } });
    publish('a/two', cluster, { labels: { tier: 'test' } });
    publish('a/left', cluster, { labels: { tier: 'prod' } });
    publish('b/three', cluster, { labels: { tier: 'prod' } });
    publish('c/four', cluster, { labels: { tier: 'prod' } });
    const fleet = run({
      namespaces: ['a', 'b'],
      labelSelector: 'tier=prod',
      select: ({ metadata: { name } }) => name !== 'left',
    });
    await fleet.synced();
    assert.deepEqual(
      fleet.list().map(({ name }) => name),
      ['a/one', 'b/three'],
    );
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
    assert.throws(() => fleet.run(), /run has been called before/);
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

  test('names every bad option at once', async (t) => {
    const { fleet } = await startHub(t);
    const wrong = {
      hub: {},
      providers: 1,
      namespaces: [],
      unhealthyGraceMs: Number.NaN,
      select: true,
      selekt: 1,
    } as object;
    assert.throws(
      () => fleet(wrong),
      (error: Error) => {
        for (const path of [
          'hub: must be a KubeConfig',
          'providers: must be',
          'namespaces: is empty',
          'unhealthyGraceMs: must be',
          'select: must be a function',
          'selekt: is not an option (did you mean select?)',
        ]) {
          assert.ok(error.message.includes(path), `${path} in ${error.message}`);
        }
        return true;
      },
    );
  });
});

describe('an onEngage function', () => {
  test('is told of clusters that come, and of those that are there already, until it is disposed of', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    publish('one', await spoke());
    const fleet = run();
    const early: Cluster[] = [];
    const telling = fleet.onEngage((cluster) => {
      assert.throws(() => fleet.get(cluster.name), { code: 'CLUSTER_NOT_READY' });
      early.push(cluster);
    });
    await fleet.synced();
    const late: Cluster[] = [];
    fleet.onEngage((cluster) => void late.push(cluster));
    await until(t, () => late.length === 1);
    telling[Symbol.dispose]();
    publish('two', await spoke());
    await until(t, () => isEngaged(fleet, 'two'));
    assert.deepEqual(
      early.map(({ name }) => name),
      ['fleet/one'],
    );
    assert.deepEqual(
      late.map(({ name }) => name),
      ['fleet/one', 'fleet/two'],
    );
  });

  test('that throws puts the cluster into Backoff and nothing else, whenever it is told', async (t) => {
    const { publish, spoke, run, warnings } = await startHub(t);
    publish('one', await spoke());
    publish('two', await spoke());
    const fleet = run();
    const told: Cluster[] = [];
    const telling = fleet.onEngage(async (cluster) => {
      told.push(cluster);
      if (cluster.name === 'fleet/one') throw new Error('no room');
    });
    await fleet.synced();
    assert.equal(stateOf(fleet, 'one'), 'Backoff HANDLERS/HANDLER_FAILED');
    assert.equal(stateOf(fleet, 'two'), 'Engaged ENGAGED');
    assert.ok(told.every(({ name, signal }) => signal.aborted === (name === 'fleet/one')));
    assert.match(
      warnings.join('\n'),
      /^fleet\/one cannot be engaged \(HANDLERS\/HANDLER_FAILED\), next try in [12] s: no room$/m,
    );
    telling[Symbol.dispose]();
    await until(t, () => isEngaged(fleet, 'one'));
    fleet.onEngage(({ name }) => {
      if (name === 'fleet/two') throw new Error('too late');
    });
    await until(t, () => stateOf(fleet, 'two') === 'Backoff HANDLERS/HANDLER_FAILED');
  });

  test('that comes or goes while others are told is told, or is not', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    publish('one', await spoke());
    const fleet = run();
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    const told: string[] = [];
    fleet.onEngage(() => opened);
    const gone = fleet.onEngage(() => told.push('gone'));
    await until(t, () => stateOf(fleet, 'one') === 'Engaging HANDLERS');
    gone[Symbol.dispose]();
    fleet.onEngage(() => {
      told.push('new');
      // It comes when the last one has been told, in the very turn.
      fleet.onEngage(() => told.push('last'));
    });
    open();
    await until(t, () => isEngaged(fleet, 'one'));
    fleet.onEngage(() => told.push('late'));
    assert.deepEqual(told, ['new', 'last', 'late']);
  });

  test('is told of every cluster, whenever it comes, and once for each time that it was given', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    publish('one', await spoke());
    const fleet = run();
    const told = new Map<number, number>();
    let engaged = false;
    fleet.onEngage(async () => {
      for (let i = 0; i < 5; i++) await undefined;
    });
    const handler = (count: number) => () => void told.set(count, (told.get(count) ?? 0) + 1);
    let given = 0;
    // One in every turn of the microtasks on the way into use.
    await until(t, () => stateOf(fleet, 'one').startsWith('Engaging'));
    while (!engaged && given < 5_000) {
      fleet.onEngage(handler(given));
      given += 1;
      engaged = isEngaged(fleet, 'one');
      await (given % 50 === 0 ? new Promise((resolve) => setImmediate(resolve)) : undefined);
    }
    await until(t, () => isEngaged(fleet, 'one') && told.size === given);
    assert.ok([...told.values()].every((times) => times === 1));
    const twice = handler(-1);
    const first = fleet.onEngage(twice);
    fleet.onEngage(twice);
    first[Symbol.dispose]();
    publish('two', await spoke());
    await until(t, () => isEngaged(fleet, 'two'));
    assert.equal(told.get(-1), 3);
  });

  test('that never ends puts the cluster into Backoff after a while, and says what to do', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const clock = new ManualClock();
    publish('one', await spoke());
    const fleet = run({ clock });
    fleet.onEngage(() => new Promise(() => {}));
    await until(t, () => stateOf(fleet, 'one') === 'Engaging HANDLERS');
    clock.advance(60_000);
    await until(t, () => stateOf(fleet, 'one') === 'Backoff HANDLERS/TIMEOUT');
    assert.match(fleet.list()[0]?.message ?? '', /start long work without waiting for it/);
  });
});

describe('a cluster that fails', () => {
  test('is tried again with growing pauses, five minutes at most', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const clock = new ManualClock();
    const cluster = await spoke();
    cluster.failNext(500, 1_000, ({ url }) => url === '/version');
    publish('one', cluster);
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

  test('is tried at once when its plugin is put in its place', async (t) => {
    const { publish, spoke, plugin, run } = await startHub(t);
    const clock = new ManualClock();
    const { rename } = await import('node:fs/promises');
    await rename(plugin.command, `${plugin.command}.away`);
    publish('one', await spoke());
    const fleet = run({ clock });
    await fleet.synced();
    assert.equal(stateOf(fleet, 'one'), 'Backoff CREDENTIAL/PLUGIN_NOT_FOUND');
    await rename(`${plugin.command}.away`, plugin.command);
    await until(t, () => isEngaged(fleet, 'one'));
  });

  test('while its credential hangs is given up in time, and when its profile goes', async (t) => {
    const { publish, spoke, plugin, run, withdraw } = await startHub(t);
    const clock = new ManualClock();
    await plugin.answer({ token: 'token-1', delayMs: 30_000 });
    publish('one', await spoke());
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
    clock.advance(60_000);
    await until(t, () => stateOf(fleet, 'one') === 'Backoff CREDENTIAL/TIMEOUT');
  });
});

describe('a profile that changes', () => {
  test('in what has no meaning for access restarts nothing', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const cluster = await spoke();
    publish('one', cluster);
    const fleet = run();
    await fleet.synced();
    const engaged = fleet.get('fleet/one');
    const asked = cluster.stats.requests;
    publish('one', cluster, { heartbeat: 'later', healthy: 'True', properties: [{ name: 'a', value: 'b' }] });
    await until(t, () => engaged.profile.status?.properties?.length === 1);
    assert.equal(fleet.get('fleet/one'), engaged);
    assert.ok(!engaged.signal.aborted);
    assert.equal(cluster.stats.requests, asked);
  });

  test('in where it leads is disengaged and engaged again', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const [before, after] = [await spoke(), await spoke()];
    publish('one', before);
    const fleet = run();
    await fleet.synced();
    const engaged = fleet.get('fleet/one');
    publish('one', after);
    await until(t, () => engaged.signal.aborted);
    assert.equal(engaged.signal.reason.reason, 'PROFILE_CHANGED');
    await until(t, () => isEngaged(fleet, 'one'));
    assert.equal(fleet.get('fleet/one').config.access.cluster.server, after.url);
  });

  test('so that it cannot be resolved any more is disengaged', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const cluster = await spoke();
    publish('one', cluster);
    const fleet = run();
    await fleet.synced();
    const engaged = fleet.get('fleet/one');
    publish('one', 'http://example.dev');
    await until(t, () => stateOf(fleet, 'one') === 'Backoff RESOLVE/SERVER_INSECURE');
    assert.ok(engaged.signal.aborted);
    publish('one', cluster);
    await until(t, () => isEngaged(fleet, 'one'));
  });

  test('by being deleted and made again is another cluster', async (t) => {
    const { publish, withdraw, spoke, run } = await startHub(t);
    const cluster = await spoke();
    publish('one', cluster);
    const fleet = run();
    await fleet.synced();
    const engaged = fleet.get('fleet/one');
    withdraw('one');
    publish('one', cluster);
    await until(t, () => engaged.signal.aborted);
    await until(t, () => isEngaged(fleet, 'one'));
    assert.notEqual(fleet.get('fleet/one'), engaged);
  });
});

describe('health', () => {
  test('decides: True or nothing engages, Unknown does nothing, False disengages after a grace', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const clock = new ManualClock();
    const cluster = await spoke();
    publish('unknown', cluster, { healthy: 'Unknown' });
    publish('sick', cluster, { healthy: 'False' });
    publish('one', cluster, { healthy: 'True' });
    publish('quiet', cluster);
    const fleet = run({ clock, unhealthyGraceMs: 100_000 });
    await fleet.synced();
    assert.equal(stateOf(fleet, 'unknown'), 'NotReady CONTROL_PLANE_UNKNOWN');
    assert.equal(stateOf(fleet, 'sick'), 'NotReady CONTROL_PLANE_UNHEALTHY');
    assert.ok(isEngaged(fleet, 'quiet'));
    const engaged = fleet.get('fleet/one');
    const report = async (healthy: 'True' | 'False' | 'Unknown') => {
      publish('one', cluster, { healthy });
      await until(t, () => fleet.list().length > 0 && engaged.profile.status?.conditions?.[0]?.status === healthy);
    };
    await report('False');
    assert.equal(await clock.waiting((ms) => ms === 100_000), 100_000);
    clock.advance(60_000);
    await report('True');
    clock.advance(60_000);
    await report('False');
    clock.advance(60_000);
    await report('Unknown');
    clock.advance(60_000);
    assert.ok(isEngaged(fleet, 'one'), 'unknown does not disengage');
    await report('False');
    await until(t, () => stateOf(fleet, 'one') === 'NotReady CONTROL_PLANE_UNHEALTHY');
    assert.ok(engaged.signal.aborted);
    publish('one', cluster, { healthy: 'True' });
    await until(t, () => isEngaged(fleet, 'one'));
  });

  test("may be the caller's to say, and a function that throws says nothing", async (t) => {
    const { publish, spoke, run, warnings } = await startHub(t);
    const cluster = await spoke();
    for (const name of ['yes', 'no', 'maybe', 'bad']) publish(name, cluster);
    const fleet = run({
      isReady: ({ metadata: { name } }) => {
        if (name === 'bad') throw new Error('oops');
        return name === 'maybe' ? undefined : name === 'yes';
      },
    });
    await fleet.synced();
    assert.deepEqual(
      ['yes', 'no', 'maybe', 'bad'].map((name) => stateOf(fleet, name)),
      ['Engaged ENGAGED', 'NotReady NOT_READY', 'NotReady READINESS_UNKNOWN', 'NotReady READINESS_UNKNOWN'],
    );
    assert.ok(warnings.includes('isReady failed: oops'));
  });
});

describe('one cluster with several profiles', () => {
  test('is engaged once, under the first by name; the next takes over when it goes', async (t) => {
    const { publish, withdraw, spoke, run } = await startHub(t);
    const cluster = await spoke();
    const same = { properties: [{ name: 'cluster.clusterset.k8s.io', value: 'x' }] };
    publish('b', cluster, same);
    publish('c', cluster, same);
    publish('other', cluster, { properties: [{ name: 'cluster.clusterset.k8s.io', value: 'y' }] });
    const fleet = run({ identify: ({ status }) => status?.properties?.[0]?.value ?? '' });
    const engagements: string[] = [];
    let engaged = 0;
    fleet.onEngage(({ name, signal }) => {
      if (name === 'fleet/other') return;
      engagements.push(name);
      engaged += 1;
      assert.equal(engaged, 1, 'never twice at once');
      signal.addEventListener('abort', () => {
        engaged -= 1;
      });
    });
    await fleet.synced();
    assert.equal(stateOf(fleet, 'c'), 'Duplicate SAME_CLUSTER');
    assert.ok(isEngaged(fleet, 'other'));
    withdraw('b');
    await until(t, () => isEngaged(fleet, 'c'));
    publish('a', cluster, same);
    await until(t, () => isEngaged(fleet, 'a'));
    assert.equal(stateOf(fleet, 'c'), 'Duplicate SAME_CLUSTER');
    assert.deepEqual(engagements, ['fleet/b', 'fleet/c', 'fleet/a']);
  });

  test('whose identify fails says so', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    publish('one', await spoke());
    const fleet = run({ identify: () => '' });
    await fleet.synced();
    assert.equal(stateOf(fleet, 'one'), 'Backoff IDENTIFY/HANDLER_FAILED');
  });
});

describe('placement', () => {
  test('leaves out what no decision names, and follows decisions', async (t) => {
    const { hub, publish, spoke, run } = await startHub(t);
    const cluster = await spoke();
    for (const name of ['a', 'b', 'c']) publish(name, cluster);
    const decide = (name: string, clusters: readonly string[], labels: Record<string, string> = {}) =>
      hub.set({
        apiVersion: 'multicluster.x-k8s.io/v1alpha1',
        kind: 'PlacementDecision',
        metadata: { name, namespace: 'apps', labels: { 'multicluster.x-k8s.io/placement-key': 'app', ...labels } },
        decisions: clusters.map((profile) => ({ clusterProfileRef: { name: profile, namespace: 'fleet' } })),
      });
    decide('one', ['a']);
    const fleet = run({ placement: { namespace: 'apps', key: 'app' } });
    await fleet.synced();
    assert.deepEqual(
      fleet.list().map(({ name }) => name),
      ['fleet/a'],
    );
    assert.match(
      thrown(() => fleet.get('fleet/b')).message,
      /^fleet\/b is not in the fleet: no PlacementDecision names it$/,
    );
    const engaged = fleet.get('fleet/a');
    decide('one', ['b', 'c']);
    await until(t, () => isEngaged(fleet, 'b') && isEngaged(fleet, 'c'));
    assert.ok(engaged.signal.aborted);
  });
});

describe('the fence: after a cluster was disengaged', () => {
  const ways = {
    'because its profile was deleted': ({ withdraw }: Awaited<ReturnType<typeof startHub>>) => withdraw('one'),
    'because it is unhealthy': (
      { publish, hub: _ }: Awaited<ReturnType<typeof startHub>>,
      spoke: Parameters<typeof publish>[1],
    ) => publish('one', spoke, { healthy: 'False' }),
    'because its profile changed': ({ publish }: Awaited<ReturnType<typeof startHub>>) =>
      publish('one', 'https://127.0.0.1:1'),
    'because the fleet was closed': 'close',
  } as const;
  for (const [way, end] of Object.entries(ways)) {
    for (const silent of [false, true]) {
      test(`${way}${silent ? ', and it answers nothing' : ''}, no request leaves, and those under way are ended`, async (t) => {
        const parts = await startHub(t, { idleTimeoutMs: 0 });
        const cluster = await parts.spoke();
        parts.publish('one', cluster);
        const clock = new ManualClock();
        const fleet = parts.run({ clock, unhealthyGraceMs: 0 });
        await fleet.synced();
        const { config, signal, ...engaged } = fleet.get('fleet/one');
        assert.ok(engaged);
        const watch = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: config.dispatcher });
        const informer = fleet.get('fleet/one').informer({ apiVersion: 'v1', kind: 'Namespace' });
        await informer.synced();
        if (silent) cluster.failNext('hang', 1_000);
        const asked = cluster.stats.requests;
        const hanging = silent ? config.makeApiClient(CoreV1Api).listNamespace() : undefined;
        hanging?.catch(() => undefined);
        if (silent) await until(t, () => cluster.stats.requests > asked);
        if (end === 'close') fleet.close();
        else end(parts, cluster);
        await until(t, () => signal.aborted);
        await assert.rejects(watch.body.text());
        if (hanging) await assert.rejects(hanging);
        const seen = cluster.stats.requests;
        await assert.rejects(config.makeApiClient(CoreV1Api).listNamespace());
        await assert.rejects(request(`${cluster.url}/version`, { dispatcher: config.dispatcher }), {
          code: 'CONFIG_CLOSED',
        });
        assert.throws(() => fleet.get('fleet/one'));
        assert.equal(cluster.stats.requests, seen);
        await until(t, () => cluster.stats.openConnections === 0);
        await fleet.close();
        await until(t, () => clock.waits.length === 0);
      });
    }
  }
});

describe('a hub', () => {
  test('without the CRD is told which manifest to apply, and the fleet goes on when it appears', async (t) => {
    const { hub, publish, spoke, run, warnings } = await startHub(t);
    const clock = new ManualClock();
    let missing = true;
    publish('one', await spoke());
    hub.failNext(404, 1_000, ({ url }) => missing && url.startsWith('/apis/multicluster'));
    const fleet = run({ clock });
    const ms = await clock.waiting((wait) => wait >= 800 && wait < 30_000);
    assert.match(
      warnings[0] ?? '',
      /does not serve ClusterProfile .*apply crds\/multicluster\.x-k8s\.io_clusterprofiles\.yaml of clusterprofile-credentials to the hub/,
    );
    missing = false;
    clock.advance(ms);
    await until(t, () => isEngaged(fleet, 'one'));
  });

  test('that may not be listed is told which verbs on which resource', async (t) => {
    const { hub, run, warnings } = await startHub(t);
    hub.failNext(403, 1_000, ({ url }) => url.includes('/clusterprofiles'));
    run({ clock: new ManualClock() });
    await until(t, () => warnings.length > 0);
    assert.match(
      warnings[0] ?? '',
      /status 403.*allow the verbs get, list and watch on clusterprofiles\.multicluster\.x-k8s\.io/,
    );
  });

  test('that goes away leaves every cluster as it is, and is read again when it comes back', async (t) => {
    const { hub, publish, withdraw, spoke, run } = await startHub(t);
    const cluster = await spoke();
    publish('one', cluster);
    publish('two', cluster);
    const fleet = run();
    await fleet.synced();
    const engaged = fleet.get('fleet/one');
    await hub.close();
    withdraw('two');
    publish('three', cluster);
    await hub.restart();
    await until(t, () => isEngaged(fleet, 'three') && stateOf(fleet, 'two') === 'none');
    assert.equal(fleet.get('fleet/one'), engaged);
    assert.ok(!engaged.signal.aborted);
  });

  test('with a namespace that cannot be read holds no other namespace up', async (t) => {
    const { hub, publish, spoke, run } = await startHub(t);
    publish('good/one', await spoke());
    hub.failNext(403, 1_000, ({ url }) => url.includes('/namespaces/bad/'));
    const fleet = run({ namespaces: ['bad', 'good'] });
    await fleet.synced();
    assert.ok(isEngaged(fleet, 'good/one'));
  });
});
