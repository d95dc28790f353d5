import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { configMaps, map, startOne } from '../fixtures/controllers.ts';
import { isEngaged, stateOf } from '../fixtures/fleet-hub.ts';
import { until } from '../fixtures/until.ts';

const asyncFailure = async () => {
  throw new Error('it is async');
};

/** Errors that cannot be printed. */
function oddErrors(): readonly unknown[] {
  const [one, other] = [new Error('one'), new Error('other')];
  one.cause = other;
  other.cause = one;
  const noText = Object.assign(new Error('x', { cause: new Error('y') }), { message: { code: 5 } });
  const throwing = Object.defineProperty(new Error('x'), 'message', {
    get: () => {
      throw new Error('no message');
    },
  });
  return [Object.create(null), one, noText, throwing, undefined, Symbol('odd')];
}

/** The beginnings that no line has. */
const unsaid = (lines: readonly string[], ...starts: readonly string[]) =>
  starts.filter((start) => !lines.some((line) => line.startsWith(start)));

describe('a fleet outlives', () => {
  test('errors that cannot be printed, thrown by every function of the author', async (t) => {
    const { run, publish, spoke, cluster, warnings } = await startOne(t, ['a']);
    publish('unready', await spoke());
    const errors = oddErrors();
    for (const name of errors.keys()) publish(String(name), cluster);
    /** A cluster throws the error that it is named for. */
    const bad = (name: string) => {
      throw errors[Number(name)];
    };
    const fleet = run({ isReady: ({ metadata: { name } }) => (name === 'unready' ? bad('0') : true) });
    const told = new Set<string>();
    fleet.onEngage(({ profile: { metadata } }) => {
      if (metadata.name === 'one' || told.has(metadata.name)) return;
      told.add(metadata.name);
      bad(metadata.name);
    });
    await until(t, () => [...errors.keys()].every((name) => told.has(String(name))));
    await until(t, () => fleet.list().filter(({ reason }) => reason === 'HANDLERS/HANDLER_FAILED').length > 0);
    assert.equal(stateOf(fleet, 'unready'), 'NotReady READINESS_UNKNOWN');
    const calls = new Map<string, number>();
    fleet.controller({
      name: 'x',
      for: { ...configMaps, indexers: { odd: () => bad('1') } },
      watches: [{ ...configMaps, map: () => bad('2') }],
      reconcile: (_request, { cluster: { profile } }) => {
        const { name } = profile.metadata;
        calls.set(name, (calls.get(name) ?? 0) + 1);
        if (name !== 'one' && calls.get(name) !== 3) bad(name);
      },
    });
    await until(t, () =>
      [...errors.keys()].every((name) => calls.get(String(name)) === 3 && isEngaged(fleet, String(name))),
    );
    const expected = ['isReady failed: ', 'indexer odd', 'map of ConfigMap', 'reconcile of default/a'];
    assert.deepEqual(unsaid(warnings, ...expected), []);
  });

  test('whatever a reconcile returns, and tries again where that is no time', async (t) => {
    const { run, cluster, warnings } = await startOne(t, ['a']);
    const times: readonly unknown[] = [Number.NaN, Number.POSITIVE_INFINITY, -1, 5n, '5', null, Symbol('odd')];
    const bad = times.map((requeueAfterMs) => ({ requeueAfterMs }));
    const good: readonly unknown[] = [5, 'done', null, {}, { requeueAfterMs: 1e300 }, { requeueAfterMs: -0 }];
    for (const index of [...bad, ...good].keys()) cluster.add(map(`odd-${index}`));
    const calls = new Map<string, number>();
    const fleet = run();
    fleet.controller({
      name: 'x',
      for: configMaps,
      reconcile: ({ name }) => {
        const call = (calls.get(name) ?? 0) + 1;
        calls.set(name, call);
        return call === 1 ? ([...bad, ...good][Number(name.slice(4))] as never) : undefined;
      },
    });
    await until(t, () => bad.every((_, index) => calls.get(`odd-${index}`) === 2));
    await until(t, () => good.every((_, index) => calls.has(`odd-${bad.length + index}`)));
    const failed = warnings.filter((line) => line.startsWith('reconcile of default/odd-'));
    assert.equal(failed.length, bad.length);
    for (const time of times) {
      const said = `reconcile returned requeueAfterMs ${String(time)}: it must be milliseconds`;
      assert.ok(failed.join('\n').includes(said), `${said} in ${failed.join('\n')}`);
    }
  });

  test('an isReady, a select and an identify that are async, or give no answer', async (t) => {
    const { run, warnings } = await startOne(t, ['a']);
    const stands = async (options: object, state: string) => {
      const fleet = run(options);
      await until(t, () => stateOf(fleet, 'one') === state);
      return fleet;
    };
    await stands({ isReady: asyncFailure }, 'NotReady READINESS_UNKNOWN');
    assert.ok(warnings.includes('isReady failed: it returned a promise: it must not be async'));
    const selecting = await stands({ select: asyncFailure }, 'Backoff SELECT/HANDLER_FAILED');
    assert.throws(() => selecting.get('fleet/one'), /select failed: it returned a promise: it must not be async/);
    await stands({ identify: asyncFailure }, 'Backoff IDENTIFY/HANDLER_FAILED');
    await stands({ identify: () => '' }, 'Backoff IDENTIFY/HANDLER_FAILED');
  });

  test('a transform, an indexer and a map that are async, and a map that returns what are no requests', async (t) => {
    const { run, cluster, warnings } = await startOne(t, ['a']);
    const fleet = run();
    const bad = asyncFailure as never;
    const answers: readonly unknown[] = [undefined, 5, [undefined], [{ name: 5 }], [{ name: 'x', namespace: {} }]];
    let calls = 0;
    fleet.controller({
      name: 'x',
      for: { ...configMaps, indexers: { odd: bad } },
      watches: [
        ...answers.map((answer) => ({ ...configMaps, map: () => answer as never })),
        { ...configMaps, map: bad },
        { apiVersion: 'v1', kind: 'Namespace', transform: bad, map: () => [] },
      ],
      reconcile: () => {
        calls += 1;
      },
    });
    await until(t, () => calls === 1);
    cluster.add(map('b'));
    await until(t, () => calls === 2);
    const ofPromises = warnings.filter((line) => line.endsWith('it returned a promise: it must not be async'));
    assert.deepEqual(unsaid(ofPromises, 'transform of Namespace', 'indexer odd', 'map of ConfigMap'), []);
    const told = warnings.filter((line) => line.startsWith('map of ConfigMap default/a failed: '));
    assert.equal(told.length, answers.length + 1);
  });
});

describe('a hub', () => {
  test('with a profile whose condition has a status that is no text: that profile says so, the others go on', async (t) => {
    const { run, hub, publish, spoke, profile: stored } = await startOne(t, ['a']);
    publish('bad', await spoke());
    const profile = stored('bad');
    const conditions = [{ type: 'ControlPlaneHealthy', status: { toString: 'x' } }];
    const status = { ...Object(profile).status, conditions };
    hub.set({ ...profile, status });
    const fleet = run();
    await fleet.synced();
    assert.ok(isEngaged(fleet, 'one'));
    assert.equal(stateOf(fleet, 'bad'), 'NotReady CONTROL_PLANE_UNKNOWN');
    const { message } = fleet.list().find(({ name }) => name === 'fleet/bad') ?? { message: '' };
    assert.match(message, /ControlPlaneHealthy is no text/);
    // An engaged cluster stays so: a report that says nothing changes nothing.
    const one = stored('one');
    hub.set({ ...one, status: { ...Object(one).status, conditions } } as never);
    hub.set({ ...profile, status: { ...status, conditions: [] } } as never);
    await until(t, () => isEngaged(fleet, 'bad'));
    assert.ok(isEngaged(fleet, 'one'));
  });

  test('with PlacementDecisions that are odd: those that can be read count', async (t) => {
    const { run, hub } = await startOne(t, ['a']);
    const decision = (name: string, decisions: unknown) => ({
      apiVersion: 'multicluster.x-k8s.io/v1alpha1',
      kind: 'PlacementDecision',
      metadata: { namespace: 'fleet', name, labels: { 'multicluster.x-k8s.io/placement-key': 'k' } },
      decisions,
    });
    hub.add([
      decision('null', null),
      decision('odd', [null, 5, {}, { clusterProfileRef: null }, { clusterProfileRef: { name: {} } }]),
      decision('text', 'text'),
      decision('none', undefined),
      decision('good', [{ clusterProfileRef: { name: 'one', namespace: null } }]),
    ] as never);
    const fleet = run({ placement: { namespace: 'fleet', key: 'k' } });
    await fleet.synced();
    assert.ok(isEngaged(fleet, 'one'));
  });
});
