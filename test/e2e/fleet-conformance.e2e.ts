import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { CoreV1Api } from '@kubernetes/client-node';
import fc from 'fast-check';
import { startGoInformer, startNodeInformer } from '../bench/fleet/informer-peers.ts';
import { adminFile, lifetimeOf } from './fixture.ts';
import { kinds, startSpoke } from './spoke.ts';

const steps = 600;
const names = 40;
const namespace = 'default';

test("the cache is client-go's in the end: creates, updates, deletes, restarts and compactions, the same for both", async (t) => {
  const life = lifetimeOf(t);
  const { plane, plugin } = await startSpoke(life, 'conformance', kinds.token, ['--etcd-compaction-interval=2s']);
  const { server, certificateAuthorityData } = plane;
  const kubeconfig = await adminFile(t, plane);
  const core = plane.admin.makeApiClient(CoreV1Api);
  const target = { server, certificateAuthorityData, command: plugin.command, namespace };
  const start = () => ({
    theirs: startGoInformer(process.env.E2E_INFORMER ?? '', kubeconfig, namespace, 'json'),
    ours: startNodeInformer('ours', target),
    metadata: startNodeInformer('ours, metadata', target),
  });
  const early = start();
  for (const informer of Object.values(early)) {
    await informer.synced;
    life.after(() => informer.close());
  }

  const step = fc.record({
    what: fc.integer({ min: 0, max: 99 }),
    name: fc.integer({ min: 0, max: names - 1 }),
    size: fc.integer({ min: 0, max: 400 }),
  });
  const seed = Number(process.env.E2E_SEED ?? 1);
  const [sequence = []] = fc.sample(fc.array(step, { minLength: steps, maxLength: steps }), { seed, numRuns: 1 });
  const there = new Set<string>();
  let restarts = 0;
  for (const [index, { what, name: number, size }] of sequence.entries()) {
    const name = `map-${number}`;
    const body = { metadata: { name }, data: { v: 'x'.repeat(size) } };
    if (!there.has(name)) {
      await core.createNamespacedConfigMap({ namespace, body });
      there.add(name);
    } else if (what < 30) {
      await core.deleteNamespacedConfigMap({ namespace, name });
      there.delete(name);
    } else {
      await core.replaceNamespacedConfigMap({ namespace, name, body });
    }
    if (index % 200 === 150) {
      await plane.restart();
      restarts += 1;
    }
    // Compactions go on beside it.
    if (index % 50 === 0) await pause(200);
  }
  const late = start();
  for (const informer of Object.values(late)) {
    await informer.synced;
    life.after(() => informer.close());
  }
  const { items } = await core.listNamespacedConfigMap({ namespace });
  const truth = Object.fromEntries(
    items.map(({ metadata, data }) => [
      `${namespace}/${metadata?.name}`,
      `${metadata?.resourceVersion} ${metadata?.uid} ${data?.v?.length ?? 0}`,
    ]),
  );
  const withoutData = Object.fromEntries(
    Object.entries(truth).map(([key, value]) => [key, value.replace(/\d+$/, '0')]),
  );
  for (const [who, informer] of Object.entries({
    ...late,
    'theirs, from the start': early.theirs,
    'ours, from the start': early.ours,
    'metadata, from the start': early.metadata,
  })) {
    const expected = who.startsWith('metadata') ? withoutData : truth;
    const patience = performance.now() + 60_000;
    for (;;) {
      const cached = await informer.dump();
      if (performance.now() > patience || isDeepStrictEqual(cached, expected)) {
        assert.deepEqual(cached, expected, who);
        break;
      }
      await pause(200);
    }
  }
  t.diagnostic(`${steps} changes of ${names} objects, ${restarts} restarts, the same cache as client-go's`);
});
