import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Job } from '../../../src/fleet/controller/cluster-queue.ts';
import { fc } from '../../fixtures/property.ts';
import { startQueue } from '../../fixtures/work-queue.ts';

describe('turns', () => {
  test('go round the clusters: one that brings very many makes no other wait', () => {
    const { clusterQueue, drain } = startQueue();
    const busy = clusterQueue('busy');
    for (let i = 0; i < 1_000; i++) busy.add(`x-${i}`);
    for (const name of ['a', 'b', 'c']) clusterQueue(name).add('y');
    assert.deepEqual(drain().slice(0, 5), ['busy/x-0', 'a/y', 'b/y', 'c/y', 'busy/x-1']);
  });

  test('are for changes first, and one in ten for what the first lists have brought', () => {
    const { clusterQueue, drain } = startQueue();
    const { add } = clusterQueue('a');
    const other = clusterQueue('b');
    for (let i = 0; i < 10; i++) other.add(`initial-${i}`, 'initial');
    for (let i = 0; i < 40; i++) add(`change-${i}`);
    const order = drain().map((value) => value.startsWith('a/'));
    const initial = order.slice(0, 20).flatMap((change, index) => (change ? [] : [index]));
    assert.deepEqual(initial, [9, 19]);
  });

  test('are for the first list of every cluster, though each has changes that never end', () => {
    const { clusterQueue, take, clock } = startQueue(1);
    const names = Array.from({ length: 10 }, (_, index) => `c${index}`);
    for (const name of names) {
      const { add } = clusterQueue(name);
      for (let i = 0; i < 20; i++) add(`initial-${i}`, 'initial');
      for (let i = 0; i < 3; i++) add(`change-${i}`);
    }
    // As many at once as there are clusters: each cluster is always at work when the turn of the first lists comes.
    const working = names.map(() => take());
    const done = new Map(names.map((name) => [name, 0]));
    for (let turn = 0; turn < 2_000; turn++) {
      const job = working.shift();
      assert.ok(job);
      if (job.rank === 'initial') done.set(job.queue.name, (done.get(job.queue.name) ?? 0) + 1);
      job.done(job.rank === 'change' ? { requeueAfterMs: 0 } : {});
      clock.advance(0);
      working.push(take());
    }
    assert.deepEqual(new Set(done.values()), new Set([20]));
  });

  test('a change makes an item of the first list rank as a change, and it is worked on once', () => {
    const { clusterQueue, drain } = startQueue();
    const { add } = clusterQueue('a');
    for (const key of ['x', 'y', 'z']) add(key, 'initial');
    add('z');
    assert.deepEqual(drain(), ['a/z', 'a/x', 'a/y']);
  });

  test('leave a slow cluster one place, until it is slow no more', () => {
    const { clusterQueue, queue, take } = startQueue(3);
    const { clusterQueue: slow, add } = clusterQueue('a');
    slow.slow(true);
    for (const key of ['1', '2', '3']) add(key);
    const first = take();
    assert.equal(queue.take(), undefined);
    slow.slow(false);
    take();
    first.done({});
    assert.equal(take().value, 'a/3');
  });
});

test('a cluster that has gone leaves no item and no timer, and what is worked on comes to nothing', () => {
  const { clusterQueue, queue, take, clock } = startQueue();
  const { clusterQueue: gone, add } = clusterQueue('a');
  for (const key of ['1', '2', '3']) add(key);
  take().done({ failed: true });
  const working = take();
  gone.close();
  working.done({ failed: true });
  add('4');
  assert.equal(queue.take(), undefined);
  assert.equal(queue.stats.depth, 0);
  assert.deepEqual(clock.waits, []);
});

describe('slots', () => {
  test('that are kept are closed to a cluster that was too slow, until it ends its work in time', () => {
    const { clusterQueue, queue, take } = startQueue(4, 4);
    const [slow, hung] = [clusterQueue('slow'), clusterQueue('hung')];
    slow.clusterQueue.slow(true);
    for (let i = 0; i < 3; i++) hung.add(`${i}`);
    const held = [take(), take(), take()];
    slow.add('x');
    assert.equal(queue.take(), undefined);
    held[0]?.done({});
    const job = take();
    assert.equal(job.value, 'slow/x');
    job.done({});
    hung.add('3');
    take();
    slow.add('x');
    assert.equal(queue.take(), undefined);
    slow.clusterQueue.slow(false);
    assert.equal(take().value, 'slow/x');
  });

  test('are all taken where more clusters hang at once than are kept, until each of them was too slow once', () => {
    const { queue, clusterQueue, take } = startQueue(4, 100);
    const hung = Array.from({ length: 100 }, (_, i) => clusterQueue(`hung-${i}`));
    for (const { add } of hung) for (let i = 0; i < 40; i++) add(`item-${i}`);
    const healthy = clusterQueue('healthy');
    /** Everything that there is a place for; then the time of those that hang is over. */
    const round = () => {
      const jobs: Job<string>[] = [];
      for (let job = queue.take(); job; job = queue.take()) jobs.push(job);
      for (const { queue: one } of jobs) one.slow(one !== healthy.clusterQueue);
      return jobs;
    };
    let jobs = round();
    assert.equal(jobs.length, 100);
    assert.equal(queue.stats.active, 100);
    healthy.add('a');
    let rounds = 0;
    while (!jobs.some(({ value }) => value === 'healthy/a')) {
      for (const job of jobs) job.done({});
      jobs = round();
      rounds += 1;
    }
    assert.equal(rounds, 1);
    // From now on those that hang have a place each, of the first three quarters, for as long as they like.
    for (const job of jobs) job.done({});
    const held = round();
    assert.equal(held.length, 75);
    for (let i = 0; i < 20; i++) {
      healthy.add(`more-${i}`);
      const job = take();
      assert.equal(job.value, `healthy/more-${i}`);
      job.done({});
    }
  });

  test('that are free go by turns to those that have waited for them and those that come', () => {
    const { clusterQueue, queue, take } = startQueue(4, 4);
    const [busy, other] = [clusterQueue('busy'), clusterQueue('other')];
    for (let i = 0; i < 8; i++) busy.add(`${i}`);
    const held = Array.from({ length: 3 }, take);
    assert.equal(queue.take(), undefined);
    const seen: string[] = [];
    for (let i = 0; i < 8; i++) {
      other.add(`${i}`);
      held.shift()?.done({});
      for (let job = queue.take(); job; job = queue.take()) {
        seen.push(job.queue.name);
        held.push(job);
      }
    }
    assert.ok(seen.includes('busy') && seen.includes('other'), seen.join());
  });
});

test('whatever happens, no item is lost, none is worked on by two, none more often than it is wanted, and no more at once than there are slots', () => {
  const step = fc.record({
    what: fc.constantFrom('add', 'add', 'add initial', 'take', 'take', 'succeed', 'fail', 'requeue', 'time', 'release'),
    cluster: fc.constantFrom('a', 'b', 'c'),
    key: fc.constantFrom('1', '2', '3', '4'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const { clock, queue, clusterQueue } = startQueue(2, 4);
      const queues = { a: clusterQueue('a'), b: clusterQueue('b'), c: clusterQueue('c') };
      const wanted = new Set<string>();
      /** When an item is wanted whatever happens. */
      const promised = new Map<string, number>();
      const working = new Map<string, Job<string>>();
      const released = new Set<Job<string>>();
      const take = () => {
        const job = queue.take();
        if (!job) return false;
        assert.ok(!working.has(job.value), 'worked on by two');
        working.set(job.value, job);
        const placed = [...working.values()].filter((one) => !released.has(one));
        const ofCluster = placed.filter(({ queue: one }) => one === job.queue);
        assert.ok(placed.length <= 4 && ofCluster.length <= 2, 'more at once than there are slots');
        const isDue = (promised.get(job.value) ?? Number.POSITIVE_INFINITY) <= clock.now();
        assert.ok(isDue || wanted.has(job.value), 'worked on once too often');
        wanted.delete(job.value);
        if (isDue) promised.delete(job.value);
        return true;
      };
      const end = (outcome: Parameters<Job<string>['done']>[0]) => {
        const [next] = working;
        if (!next) return;
        working.delete(next[0]);
        if ('failed' in outcome) wanted.add(next[0]);
        else if (outcome.requeueAfterMs !== undefined) {
          const at = clock.now() + outcome.requeueAfterMs;
          promised.set(next[0], Math.min(at, promised.get(next[0]) ?? at));
        }
        next[1].done(outcome);
      };
      for (const { what, cluster: name, key } of steps) {
        if (what === 'add' || what === 'add initial') {
          wanted.add(`${name}/${key}`);
          queues[name as 'a'].add(key, what === 'add' ? 'change' : 'initial'); // one of the three
        } else if (what === 'take') take();
        else if (what === 'succeed') end({});
        else if (what === 'fail') end({ failed: true });
        else if (what === 'requeue') end({ requeueAfterMs: 50 });
        else if (what === 'time') clock.advance(20);
        else {
          const last = [...working.values()].at(-1);
          if (last) released.add(last);
          last?.release();
        }
      }
      for (let round = 0; round < 100 && wanted.size + promised.size + working.size > 0; round++) {
        while (take());
        while (working.size > 0) end({});
        clock.advance(1_000_000);
      }
      assert.deepEqual([...wanted, ...promised], []);
      assert.equal(queue.stats.depth, 0);
    }),
    { numRuns: 300 },
  );
});
