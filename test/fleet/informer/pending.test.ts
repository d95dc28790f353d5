import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type InformerEvent, Pending } from '../../../src/fleet/informer/options.ts';
import type { KubernetesObject } from '../../../src/rest/api/kubernetes-object.ts';
import { fc } from '../../fixtures/property.ts';

const object = (name: string, uid: string, resourceVersion: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, uid, resourceVersion },
});

/** What a consumer believes when it takes the events as they come. */
function believe(beliefs: Map<string, KubernetesObject>, event: InformerEvent): void {
  const { name, uid } = event.object.metadata;
  const before = beliefs.get(name);
  if (event.type === 'Delete') {
    assert.equal(before?.metadata.uid, uid, 'only what the consumer knows is deleted');
    beliefs.delete(name);
    return;
  }
  assert.equal(event.old, before, 'old is what the consumer saw last');
  if (before) assert.equal(before.metadata.uid, uid, 'another object of the same name comes after its deletion');
  beliefs.set(name, event.object);
}

describe('what a consumer has not seen yet', () => {
  const [one, other] = [object('a', 'u', '1'), object('a', 'u', '2')];
  const again = object('a', 'w', '3');
  for (const [what, initially, later, initial] of [
    ['was there', [one], [], true],
    ['was there, and has changed', [one], [other], true],
    ['was there, and was replaced', [one], [again], false],
    ['was there, has gone, and was made again', [one], [undefined, again], false],
    ['was replaced before the first list was complete', [one, again], [], true],
    ['came later', [], [one, other], false],
  ] as const) {
    test(`is ${initial ? '' : 'not '}initial where it ${what}`, () => {
      const pending = new Pending();
      let before: KubernetesObject | undefined;
      for (const [index, after] of [...initially, ...later].entries()) {
        pending.add({ key: 'a', before, after, initial: index < initially.length });
        before = after;
      }
      const [event, ...more] = pending.take();
      assert.deepEqual([event?.type === 'Apply' && event.initial, more], [initial, []]);
    });
  }

  test('leads it to the truth however slowly it reads, in bounded memory', () => {
    const step = fc.record({
      key: fc.constantFrom('a', 'b', 'c'),
      what: fc.constantFrom('apply', 'delete', 'replace', 'read'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const truth = new Map<string, KubernetesObject>();
        const beliefs = new Map<string, KubernetesObject>();
        const pending = new Pending();
        for (const [version, { key, what }] of steps.entries()) {
          const before = truth.get(key);
          if (what === 'read') {
            for (const event of pending.take()) believe(beliefs, event);
            continue;
          }
          if (what !== 'apply' && before) {
            truth.delete(key);
            pending.add({ key, before, after: undefined, gone: before, initial: false });
          }
          if (what !== 'delete') {
            const left = truth.get(key);
            const after = object(key, left?.metadata.uid ?? `uid-${version}`, String(version));
            truth.set(key, after);
            pending.add({ key, before: left, after, initial: false });
          }
          assert.ok(pending.size <= new Set([...truth.keys(), ...beliefs.keys()]).size);
        }
        while (pending.size > 0) for (const event of pending.take()) believe(beliefs, event);
        assert.deepEqual(beliefs, truth);
      }),
      { numRuns: 300 },
    );
  });
});
