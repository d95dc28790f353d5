import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { FleetError, type HubReconcileContext, type KubernetesObject } from '../../../src/fleet/index.ts';
import type { RestConfig } from '../../../src/index.ts';
import { configMaps, gate, map } from '../../fixtures/controllers.ts';
import { engagedIn, holderIn, shared, startReplicas } from '../../fixtures/replicas.ts';
import { turns, until } from '../../fixtures/until.ts';

const names = Array.from({ length: 24 }, (_, index) => `m-${index}`);

/** A hub with objects, and replicas that note what they reconcile. */
async function startNoting(
  t: TestContext,
  work: (replica: string, name: string, signal: AbortSignal) => unknown = () => {},
) {
  const parts = await startReplicas(t, 0);
  parts.hub.add(names.map((name) => map(name)));
  const start = (identity: string) => {
    const replica = parts.start(identity);
    const seen: string[] = [];
    replica.fleet.controller({
      name: 'notes',
      for: { ...configMaps, on: 'hub' },
      reconcile: async ({ name }, { signal }) => {
        seen.push(name);
        await work(identity, name, signal);
      },
    });
    return { ...replica, seen };
  };
  return { ...parts, start };
}

/** How many of these Leases a replica holds. */
const heldBy = (identity: string, leases: readonly object[]) =>
  leases.filter((lease) => holderIn(lease).startsWith(`${identity}_`)).length;

describe('replicas that share the objects of a hub', () => {
  test('reconcile each of them in one place, and hand it over', async (t) => {
    const { hub, start, leases } = await startNoting(t);
    const [one, two] = [start('one'), start('two')];
    one.run();
    await until(t, () => one.seen.length === names.length);
    two.run();
    await until(t, () => ['one', 'two'].every((identity) => heldBy(identity, leases('shard')) === 32));
    const ours = one.seen.length;
    for (const name of names) hub.set({ ...map(name), data: { x: 'y' } });
    await until(t, () => new Set([...one.seen.slice(ours), ...two.seen]).size === names.length);
    assert.ok(two.seen.length > 0);
    const twice = one.seen.slice(ours).filter((name) => two.seen.includes(name));
    assert.deepEqual(twice, []);
    await one.leave();
    // The clock of the other one has not moved.
    await until(t, () => names.every((name) => two.seen.includes(name)));
    assert.equal(leases('replica').length, 1, 'its own Lease is gone');
  });

  test('reconcile what a watch names and nobody has made yet, in the replica that has it', async (t) => {
    const { hub, spoke, start, leases } = await startReplicas(t, 1);
    const reports = { ...configMaps, namespace: 'reports' };
    const toReport = ({ metadata: { name } }: KubernetesObject) => [{ namespace: 'reports', name }];
    hub.add(names.map((name) => map(name, { namespace: 'templates' })));
    spoke.add(names.map((name) => map(`spoke-${name}`)));
    const startMaking = (identity: string) => {
      const replica = start(identity);
      const seen: string[] = [];
      replica.fleet.controller({
        name: 'reports',
        for: { ...reports, on: 'hub' },
        watches: [
          { ...configMaps, namespace: 'templates', on: 'hub', map: toReport },
          { ...configMaps, on: 'clusters', map: toReport },
        ],
        reconcile: ({ name }) => void seen.push(name),
      });
      return { ...replica, seen };
    };
    const [one, two] = [startMaking('one'), startMaking('two')];
    one.run();
    await until(t, () => new Set(one.seen).size === 2 * names.length);
    two.run();
    await until(t, () => two.seen.some((name) => names.includes(name)));
    await until(t, () => heldBy('two', leases('shard')) === 32);
    await shared(t, 1, one, two);
    const [stays, leaves] = engagedIn(one.fleet).length === 1 ? [one, two] : [two, one];
    const before = stays.seen.length;
    await leaves.leave();
    await until(t, () => {
      const taken = stays.seen.slice(before);
      return names.some((name) => taken.includes(name)) && names.some((name) => taken.includes(`spoke-${name}`));
    });
  });

  test('hand an object over when its reconcile has ended, not before', async (t) => {
    const hold = gate(t);
    const working = new Set<string>();
    const aborted = new Map<string, unknown>();
    const overlap: string[] = [];
    const work = async (name: string, signal: AbortSignal) => {
      working.add(name);
      signal.addEventListener('abort', () => working.has(name) && aborted.set(name, signal.reason));
      await hold.promise;
      working.delete(name);
    };
    const { start } = await startNoting(t, (replica, name, signal) => {
      if (replica === 'one') return work(name, signal);
      return working.has(name) && overlap.push(name);
    });
    const one = start('one');
    one.fleet.controller({
      name: 'more at once',
      for: { ...configMaps, on: 'hub' },
      perClusterConcurrency: 100,
      reconcile: ({ name }, { signal }) => work(name, signal),
    });
    one.run();
    await until(t, () => working.size === names.length);
    const two = start('two');
    two.run();
    await until(t, () => aborted.size > 0);
    const why = /^default\/m-\d+ on the hub is let go \(HANDED_OVER\): shard \d+ is on its way to two$/;
    for (const reason of aborted.values()) {
      assert.ok(reason instanceof FleetError && reason.code === 'LEASE_LOST' && reason.reason === 'HANDED_OVER');
      assert.match(reason.message, why);
    }
    await turns();
    const early = two.seen.filter((name) => aborted.has(name));
    assert.deepEqual(early, []);
    hold.open();
    await until(t, () => [...aborted.keys()].every((name) => two.seen.includes(name)));
    assert.deepEqual(overlap, []);
  });

  test('stop at the deadline when the hub is away, and go on when it is back', async (t) => {
    const reasons: unknown[] = [];
    let begun = 0;
    let atOnce = 0;
    let most = 0;
    const { hub, start, warnings } = await startNoting(t, async (_replica, name, signal) => {
      if (name !== 'm-0') return;
      begun += 1;
      atOnce += 1;
      most = Math.max(most, atOnce);
      if (begun === 1) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        reasons.push(signal.reason);
        await hold.promise;
      }
      atOnce -= 1;
    });
    const hold = gate(t);
    const one = start('one');
    one.run();
    await until(t, () => begun === 1 && one.seen.length === names.length);
    let isAway = true;
    hub.failNext(503, 1_000_000, ({ url }) => isAway && url.includes('/leases'));
    one.clock.advance(20_000);
    await until(t, () => reasons.length === 1);
    assert.match(String(reasons[0]), /LEASE_LOST.*default\/m-0 on the hub is let go/);
    const before = one.seen.length;
    hub.set({ ...map('m-1'), data: { while: 'away' } });
    const cache = one.fleet.hub.informer(configMaps);
    await until(t, () => 'data' in (cache.get('m-1', 'default') ?? {}));
    assert.equal(one.seen.length, before, 'nothing is reconciled that may be another one');
    isAway = false;
    // All of them again, but for the one whose reconcile goes on.
    await one.passUntil(() => new Set(one.seen.slice(before)).size === names.length - 1);
    assert.equal(begun, 1);
    hold.open();
    await one.passUntil(() => begun === 2);
    assert.equal(most, 1);
    assert.doesNotMatch(warnings.join('\n'), /it is given up/);
  });

  for (const [whose, on] of [
    ['an object of the hub', 'hub'],
    ['a cluster', undefined],
  ] as const) {
    test(`send nothing to the hub after the shard of ${whose} was lost, whatever a reconcile does`, async (t) => {
      const { hub, spoke, start, warnings } = await startReplicas(t, 1);
      const one = start('one');
      const hold = gate(t);
      const given: RestConfig[] = [];
      const underWay: Promise<unknown>[] = [];
      const reconcile = async (context: HubReconcileContext) => {
        given.push(context.hub);
        if (given.length > 1) return;
        underWay.push(context.hub.fetch('/api/v1/namespaces?hangs').catch((error: unknown) => error));
        await hold.promise;
      };
      const common = {
        name: 'careless',
        reconcile: (_request: unknown, context: HubReconcileContext) => reconcile(context),
      };
      hub.failNext('hang', 1, ({ url }) => url.endsWith('?hangs'));
      (on === 'hub' ? hub : spoke).add(map('a'));
      if (on === 'hub') one.fleet.controller({ ...common, for: { ...configMaps, on } });
      else one.fleet.controller({ ...common, for: configMaps });
      one.run();
      await until(t, () => underWay.length === 1);
      const [config] = given;
      assert.ok(config);
      const maps = config.resource({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'kube-system' });
      await maps.create({ metadata: { name: 'in-time' } });
      let isAway = true;
      hub.failNext(503, 1_000_000, ({ url }) => isAway && url.includes('/leases'));
      one.clock.advance(20_000);
      assert.equal(Object(await underWay[0]).code, 'LEASE_LOST');
      await assert.rejects(maps.create({ metadata: { name: 'late' } }), { code: 'LEASE_LOST', reason: 'SHARD_LOST' });
      assert.equal(hub.get(map('late', { namespace: 'kube-system' })), undefined);
      isAway = false;
      hold.open();
      // It is this replica's again.
      await one.passUntil(() => given.length > 1);
      await assert.rejects(maps.create({ metadata: { name: 'late' } }), { code: 'LEASE_LOST' });
      assert.ok(given[1] !== config && (await given[1]?.fetch('/version'))?.ok, warnings.join('\n'));
      assert.ok((await one.fleet.hub.config.fetch('/version')).ok, 'the config of the fleet is not touched');
    });
  }
});
