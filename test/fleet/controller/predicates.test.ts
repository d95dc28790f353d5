import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  annotationsChanged,
  type ControllerOptions,
  generationChanged,
  type KubernetesObject,
  labelsChanged,
  type ObjectMeta,
} from '../../../src/fleet/index.ts';
import { ofKind, startOne } from '../../fixtures/controllers.ts';
import { until } from '../../fixtures/until.ts';

const object = (metadata: Partial<ObjectMeta> & Record<string, unknown>): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a', uid: 'u', resourceVersion: '1', ...metadata },
});

describe('a predicate', () => {
  test('of the generation counts objects that have none', () => {
    assert.equal(generationChanged(object({ generation: 1 }), object({ generation: 1 })), false);
    assert.equal(generationChanged(object({ generation: 1 }), object({ generation: 2 })), true);
    assert.equal(generationChanged(object({}), object({})), true);
  });

  test('of labels or annotations compares each key, in any order, and null as none', () => {
    for (const [field, changed] of [
      ['labels', labelsChanged],
      ['annotations', annotationsChanged],
    ] as const) {
      const other = field === 'labels' ? 'annotations' : 'labels';
      const differ = (before: unknown, after: unknown) =>
        changed(object({ [field]: before, [other]: { x: '1' } }), object({ [field]: after, [other]: { x: '2' } }));
      assert.equal(differ({ a: '1', b: '2' }, { b: '2', a: '1' }), false);
      assert.equal(differ(undefined, {}), false);
      assert.equal(differ(null, undefined), false);
      assert.equal(differ({ a: '1' }, { a: '2' }), true);
      assert.equal(differ({ a: '1' }, { b: '1' }), true);
      assert.equal(differ(undefined, { a: '1' }), true);
      assert.equal(differ({ a: '1' }, null), true);
    }
  });
});

const pods = { apiVersion: 'v1', kind: 'Pod', namespace: 'default' } as const;
const pod = (name: string, metadata: object = {}, status: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, generation: 1, ...metadata },
  status,
});

/** A controller on one cluster, and the names that it is asked for. Changes are in order, so that a last one says that others were left out. */
async function start(t: Parameters<typeof startOne>[0], options: Pick<ControllerOptions, 'for' | 'owns' | 'watches'>) {
  const { cluster, run, warnings } = await startOne(t);
  cluster.add(pod('a'));
  const fleet = run();
  const seen: string[] = [];
  fleet.controller({ name: 'x', ...options, reconcile: ({ name }) => void seen.push(name) });
  await until(t, () => seen.includes('a'));
  return { cluster, seen, warnings };
}

describe('a controller with `when`', () => {
  test('leaves out changes that do not count, and none that is new, gone or another object', async (t) => {
    const { cluster, seen } = await start(t, { for: { ...pods, when: generationChanged } });
    cluster.set(pod('a', {}, { phase: 'Running' }));
    cluster.set(pod('a', { labels: { x: '1' } }));
    cluster.add(pod('b'));
    await until(t, () => seen.length === 2);
    cluster.set(pod('a', { generation: 2 }));
    await until(t, () => seen.length === 3);
    cluster.delete(pod('a'));
    await until(t, () => seen.length === 4);
    cluster.add(pod('a', { generation: 2 }));
    await until(t, () => seen.length === 5);
    assert.deepEqual(seen, ['a', 'b', 'a', 'a', 'a']);
  });

  test('asks it of owned and watched objects as well, before `map`', async (t) => {
    const owner = (name: string) => ({ apiVersion: 'v1', kind: 'Pod', name, uid: 'x', controller: true });
    const secret = (name: string, metadata: object = {}) =>
      ofKind('Secret', name, { ownerReferences: [owner(`owner-of-${name}`)], ...metadata });
    const service = (name: string, metadata: object = {}) => ofKind('Service', name, metadata);
    const map = ({ metadata: { name } }: KubernetesObject) => [{ name: `mapped-${name}`, namespace: 'default' }];
    const { cluster, seen } = await start(t, {
      for: pods,
      owns: [{ apiVersion: 'v1', kind: 'Secret', when: labelsChanged }],
      watches: [{ apiVersion: 'v1', kind: 'Service', when: annotationsChanged, map }],
    });
    cluster.add([secret('s'), service('x')]);
    await until(t, () => seen.length === 3);
    cluster.set(secret('s', { annotations: { a: '1' } }));
    cluster.add(secret('after-s'));
    cluster.set(service('x', { labels: { a: '1' } }));
    cluster.add(service('after-x'));
    await until(t, () => seen.includes('owner-of-after-s') && seen.includes('mapped-after-x'));
    assert.equal(seen.length, 5);
    cluster.set(secret('s', { annotations: { a: '1' }, labels: { a: '1' } }));
    cluster.set(service('x', { labels: { a: '1' }, annotations: { a: '1' } }));
    await until(t, () => seen.length === 7);
    assert.deepEqual(seen.slice(5).toSorted(), ['mapped-x', 'owner-of-s']);
  });

  test('reports one that throws, is async or returns something else, and counts the change', async (t) => {
    const answers: (() => unknown)[] = [() => assert.fail('no'), async () => false, () => undefined, () => false];
    const when = () => (answers.shift() ?? assert.fail('it is asked too often'))() as boolean;
    const { cluster, seen, warnings } = await start(t, { for: { ...pods, when } });
    for (let i = 1; i <= 3; i++) {
      cluster.set(pod('a', { labels: { x: String(i) } }));
      await until(t, () => seen.length === i + 1);
    }
    cluster.set(pod('a', { labels: { x: 'left-out' } }));
    cluster.add(pod('b'));
    await until(t, () => seen.includes('b'));
    assert.deepEqual(seen, ['a', 'a', 'a', 'a', 'b']);
    assert.deepEqual(warnings, [
      'when of Pod default/a failed: no',
      'when of Pod default/a failed: it returned a promise: it must not be async',
      'when of Pod default/a failed: it returned neither true nor false, and counts as true',
    ]);
  });
});
