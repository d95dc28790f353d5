import assert from 'node:assert/strict';
import { createServer, request as send } from 'node:https';
import { describe, type TestContext, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import type { KubernetesObject, ReconcileContext, WrittenObject } from '../../../src/fleet/index.ts';
import type { FakeCluster } from '../../../src/testing/index.ts';
import { configMaps, map, startOne } from '../../fixtures/controllers.ts';
import { isEngaged, restConfigFor, startHub } from '../../fixtures/fleet-hub.ts';
import { listen } from '../../fixtures/listen.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { placeAt, tlsOptions } from '../../fixtures/raw-h2.ts';
import { until } from '../../fixtures/until.ts';

/** More than Node allows listeners without a warning. */
const count = 12;
const byParent = ({ metadata: { labels = {} } }: KubernetesObject) => [labels.parent ?? ''];
const secretKind = { apiVersion: 'v1', kind: 'Secret', namespace: 'default' } as const;
const secrets = { ...secretKind, indexers: { byParent } } as const;

/** In front of a cluster: what its watches of secrets bring is kept back while `hold` is in force. */
async function startSlowWatches(t: TestContext, cluster: FakeCluster) {
  const ca = cluster.certificateAuthority.certificate;
  let held: (() => void)[] | undefined;
  const server = createServer(tlsOptions, (request, response) => {
    const isWatch = /\/secrets\?.*watch=true/.test(request.url ?? '');
    const { method = 'GET', headers } = request;
    const forwarded = send(`${cluster.url}${request.url}`, { method, headers, ca }, (answer) => {
      const { 'content-type': type = '' } = answer.headers;
      response.writeHead(answer.statusCode ?? 500, { 'content-type': type });
      response.flushHeaders();
      answer.on('data', (chunk) => {
        if (isWatch && held) held.push(() => response.write(chunk));
        else response.write(chunk);
      });
      answer.on('close', () => response.end());
    });
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
    request.pipe(forwarded);
  });
  const { port } = await listen(t, server);
  return {
    ...placeAt(port),
    hold: () => {
      held = [];
    },
    release: () => {
      const writes = held ?? [];
      held = undefined;
      for (const write of writes) write();
    },
  };
}

/** A fleet of one cluster, whose watches of secrets can be held back. */
async function startSlow(t: TestContext) {
  const { spoke, publish, run, warnings } = await startHub(t);
  const cluster = await spoke();
  const slow = await startSlowWatches(t, cluster);
  publish('one', slow);
  const clock = new ManualClock();
  const fleet = run({ clock });
  /** There is something to reconcile, and from now on the watches are held back. */
  const begin = async (...maps: readonly string[]) => {
    await until(t, () => isEngaged(fleet, 'one'));
    await fleet.synced();
    slow.hold();
    cluster.add(maps.map((name) => map(name)));
  };
  /** Reconciles that are wanted again after a millisecond begin. */
  const repeat = async (count = 1, afterMs = 1) => {
    await until(t, () => clock.waits.filter((ms) => ms === afterMs).length === count);
    clock.advance(afterMs);
  };
  return { cluster, slow, clock, fleet, warnings, begin, repeat };
}

type Reconcile = (
  context: ReconcileContext<KubernetesObject>,
  name: string,
  create: () => Promise<WrittenObject>,
) => Promise<void>;

/** A controller that makes a child for each of 12 objects, and is asked for each of them again. Its watch of children is held. */
async function start(t: TestContext, reconcile: Reconcile) {
  const { cluster, slow, clock, fleet, warnings, begin, repeat } = await startSlow(t);
  const calls = new Map<string, number>();
  fleet.controller({
    name: 'children',
    for: configMaps,
    owns: [secrets],
    perClusterConcurrency: count,
    reconcile: async ({ name }, context) => {
      const call = (calls.get(name) ?? 0) + 1;
      calls.set(name, call);
      const core = context.cluster.config.makeApiClient(CoreV1Api);
      const metadata = { generateName: `${name}-`, labels: { parent: name } };
      await reconcile(context, name, () => core.createNamespacedSecret({ namespace: 'default', body: { metadata } }));
      return call === 1 ? { requeueAfterMs: 1 } : {};
    },
  });
  await begin(...Array.from({ length: count }, (_, i) => `m-${i}`));
  const children = () => cluster.list({ apiVersion: 'v1', kind: 'Secret' }).length;
  const waiting = () => clock.waits.filter((ms) => ms === 10_000).length;
  await until(t, () => children() === count && [...calls.values()].every((call) => call === 1) && calls.size === count);
  return { slow, clock, calls, children, waiting, warnings, again: (afterMs?: number) => repeat(count, afterMs) };
}

const has = ({ cluster }: ReconcileContext<KubernetesObject>, name: string) =>
  cluster.informer(secrets).byIndex('byParent', name).length > 0;

describe('a controller that creates a child if its cache has none, with a slow watch', () => {
  const reconciles: Readonly<Record<string, Reconcile>> = {
    'through `cluster.resource`': async ({ cluster, signal }, name) => {
      const metadata = { generateName: `${name}-`, labels: { parent: name } };
      await cluster.resource(secretKind).create({ metadata }, { signal });
    },
    'with `wrote`': async (context, _name, create) => context.wrote(await create()),
    'in a reconcile that fails afterwards': async (context, _name, create) => {
      context.wrote(await create());
      throw new Error('after the write');
    },
  };
  for (const [way, createBy] of Object.entries(reconciles)) {
    test(`creates one ${way}: the next reconcile of the object waits for the cache`, async (t) => {
      const { slow, calls, children, waiting, warnings, again } = await start(t, async (context, name, create) => {
        if (!has(context, name)) await createBy(context, name, create);
      });
      await again(way.includes('fails') ? 5 : 1);
      await until(t, () => waiting() === count);
      assert.equal(children(), count);
      slow.release();
      await until(t, () => [...calls.values()].every((call) => call >= 2));
      assert.equal(children(), count);
      assert.equal(waiting(), 0);
      const unexpected = warnings.filter((line) => !line.endsWith('after the write'));
      assert.deepEqual(unexpected, []);
    });
  }

  test('goes on after ten seconds, with one warning', async (t) => {
    const { clock, slow, children, waiting, warnings, again } = await start(t, async (context, name, create) => {
      if (!has(context, name)) context.wrote(await create());
    });
    await again();
    await until(t, () => waiting() === count);
    clock.advance(9_999);
    assert.equal(waiting(), count);
    clock.advance(1);
    await until(t, () => children() === 2 * count);
    const [warning, ...others] = warnings.filter((line) => line.includes('goes on without its last write'));
    const expected =
      /^reconcile of default\/m-\d+ on fleet\/one goes on without its last write: the cache of Secret \(\d+\) has not seen in 10 s what was written: check its watch, /;
    assert.match(warning ?? '', expected);
    assert.deepEqual(others, []);
    slow.release();
  });

  test('waits for no cache of another kind or namespace, and takes only what a write returns', async (t) => {
    const wrong: unknown[] = [];
    const { calls, waiting, again } = await start(t, async (context, name, create) => {
      const { metadata } = await create();
      const version = { resourceVersion: metadata?.resourceVersion ?? '' };
      const here = { ...version, namespace: 'default' };
      context.wrote({ apiVersion: 'v1', kind: 'Service', metadata: here });
      context.wrote({ apiVersion: 'other.dev/v1', kind: 'Secret', metadata: here });
      context.wrote({ apiVersion: 'v1', kind: 'Secret', metadata: { ...version, namespace: 'other' } });
      context.wrote({ apiVersion: 'v1', kind: 'Secret', metadata: { ...here, resourceVersion: 'opaque' } });
      if (name !== 'm-0') return;
      for (const object of [
        undefined,
        {},
        { apiVersion: 'v1', kind: 'Secret' },
        { kind: 'Secret', metadata: version },
      ]) {
        assert.throws(() => context.wrote(object as never), TypeError);
        wrong.push(object);
      }
    });
    await again();
    await until(t, () => [...calls.values()].every((call) => call === 2) && wrong.length === 8);
    assert.equal(waiting(), 0);
  });
});

for (const how of ['by itself', 'also with wrote', 'by another client'])
  test(`a controller of the clusters that writes to the hub (${how}) waits for the cache of the hub, and for no other one`, async (t) => {
    const { hub, cluster, run, warnings } = await startOne(t);
    const slow = await startSlowWatches(t, hub);
    const clock = new ManualClock();
    const fleet = run({ clock, hub: restConfigFor(slow, 'hub') });
    const onHub = { apiVersion: 'v1', kind: 'Secret', namespace: 'reports' };
    const seen: (string | undefined)[] = [];
    fleet.controller({
      name: 'reports',
      for: configMaps,
      // The same kind on the cluster, whose versions say nothing of the hub's.
      owns: [secrets],
      watches: [{ ...onHub, on: 'hub', map: () => [] }],
      reconcile: async ({ name }, { hub: server, hubInformer, wrote }) => {
        seen.push(hubInformer(onHub).get(name, 'reports')?.metadata.name);
        const written = await server.resource({ ...onHub, fieldManager: 'x' }).apply({ metadata: { name } });
        // Not needed, and the server is known all the same.
        if (how === 'also with wrote') wrote(written);
        if (how === 'by another client') {
          const [core, metadata] = [server.makeApiClient(CoreV1Api), { name: `${name}-2` }];
          wrote(await core.createNamespacedSecret({ namespace: 'reports', body: { metadata } }), server);
        }
        return seen.length === 1 ? { requeueAfterMs: 1 } : {};
      },
    });
    await until(t, () => isEngaged(fleet, 'one'));
    await fleet.synced();
    hub.add({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'reports' } });
    slow.hold();
    cluster.add(map('a'));
    await until(t, () => clock.waits.includes(1));
    clock.advance(1);
    await until(t, () => clock.waits.includes(10_000));
    assert.deepEqual(seen, [undefined]);
    slow.release();
    await until(t, () => seen.length === 2);
    assert.deepEqual(seen, [undefined, 'a']);
    assert.equal([...fleet.hub.informers].length, 2, 'those of the profiles and of the source');
    assert.deepEqual(warnings, []);
  });

describe('a reconcile that deletes an object', () => {
  for (const [what, finalizers] of [
    ['waits until the cache has it no more', []],
    ['waits until the cache shows that it is being deleted, where a finalizer holds it', ['example.dev/hold']],
  ] as const)
    test(what, async (t) => {
      const { cluster, slow, clock, fleet, begin, repeat } = await startSlow(t);
      cluster.add({ ...secretKind, metadata: { namespace: 'default', name: 'a', finalizers } });
      const seen: string[] = [];
      fleet.controller({
        name: 'x',
        for: configMaps,
        owns: [secretKind],
        reconcile: async (_request, { cluster: here }) => {
          const found = here.informer(secretKind).get('a', 'default');
          seen.push(!found ? 'gone' : found.metadata.deletionTimestamp ? 'leaving' : 'there');
          if (seen.length === 1) {
            await here.resource(secretKind).delete('a');
            return { requeueAfterMs: 1 };
          }
          return {};
        },
      });
      await begin('m');
      await repeat();
      await until(t, () => clock.waits.includes(10_000));
      assert.deepEqual(seen, ['there']);
      slow.release();
      await until(t, () => seen.length === 2);
      assert.deepEqual(seen, ['there', finalizers.length > 0 ? 'leaving' : 'gone']);
    });

  test('waits for an object that it has made before, and for no cache that does not select what it writes', async (t) => {
    const { cluster, slow, clock, fleet, warnings, begin, repeat } = await startSlow(t);
    const selected = { ...secretKind, labelSelector: 'app in (a,b),!hidden' };
    let calls = 0;
    let selects = false;
    fleet.controller({
      name: 'x',
      for: configMaps,
      owns: [selected],
      reconcile: async (_request, { cluster: here }) => {
        calls += 1;
        if (calls % 2 === 0) return {};
        const labels = { app: selects ? 'a' : 'c' };
        const { metadata } = await here.resource(secretKind).create({ metadata: { generateName: 'x-', labels } });
        if (selects) await here.resource(secretKind).delete(metadata.name);
        return { requeueAfterMs: 1 };
      },
    });
    await begin('m');
    await repeat();
    await until(t, () => calls === 2);
    selects = true;
    cluster.set(map('m', { again: 'x' }));
    await repeat();
    await until(t, () => clock.waits.includes(10_000));
    assert.equal(calls, 3);
    slow.release();
    await until(t, () => calls === 4);
    assert.deepEqual(warnings, []);
  });
});
