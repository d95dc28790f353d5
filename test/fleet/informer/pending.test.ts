import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { InformerEvent } from '../../../src/fleet/informer/options.ts';
import { Pending } from '../../../src/fleet/informer/pending.ts';
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
            pending.add({ key, before, after: undefined, gone: before });
          }
          if (what !== 'delete') {
            const left = truth.get(key);
            const after = object(key, left?.metadata.uid ?? `uid-${version}`, String(version));
            truth.set(key, after);
            pending.add({ key, before: left, after });
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
