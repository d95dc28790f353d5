import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type RunHistory, type RunRequest, withinRunLimit } from '../../src/exec/run-limit.ts';
import { until } from '../fixtures/until.ts';

type Past = NonNullable<RunHistory['lastRun']> | 'new';
const historyOf = (past: Past): RunHistory => (past === 'new' ? {} : { lastRun: past });

/** An instance with a limit. `run` asks for a place; a run that has one goes on until it is finished. */
function startInstance(t: TestContext, limit: number) {
  const closing = new AbortController();
  t.after(() => closing.abort());
  const run = (more: Partial<RunRequest> = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let begun = false;
    const work = () => {
      begun = true;
      return promise;
    };
    const request = { signal: closing.signal, limit, accessType: 'a', history: historyOf('succeeded'), ...more };
    const done = withinRunLimit(request, work);
    done.catch(() => undefined);
    const finish = async (error?: Error) => {
      await until(t, () => begun);
      if (error) reject(error);
      else resolve();
      return done;
    };
    return { done, finish, isRunning: () => begun };
  };
  return { run, close: (reason?: unknown) => closing.abort(reason) };
}

type Started = ReturnType<ReturnType<typeof startInstance>['run']>;
const running = (runs: readonly Started[]) => runs.map((run) => run.isRunning());
const many = (count: number, start: () => Started) => Array.from({ length: count }, start);
const settled = () => new Promise((resolve) => setImmediate(resolve));
async function finishAll(runs: readonly Started[]): Promise<void> {
  for (const run of runs) await run.finish();
}

describe('an instance', () => {
  test('has no more places than its limit, and all together no more than the largest limit', async (t) => {
    const [small, large] = [startInstance(t, 2), startInstance(t, 4)];
    const ofSmall = many(4, () => small.run());
    const ofLarge = many(6, () => large.run());
    await settled();
    assert.deepEqual(running(ofSmall), [true, true, false, false]);
    assert.deepEqual(running(ofLarge), [true, true, false, false, false, false]);
    await finishAll([...ofSmall, ...ofLarge]);
  });

  test('with one place takes its turn beside one that is always busy', async (t) => {
    const [single, busy] = [startInstance(t, 1), startInstance(t, 8)];
    const others = many(40, () => busy.run());
    const [first, second] = [single.run(), single.run()];
    await settled();
    assert.deepEqual(running([first, second]), [false, false]);
    await finishAll(others.slice(0, 2));
    await settled();
    assert.deepEqual(running([first, second]), [true, false]);
    await first.finish();
    await finishAll(others.slice(2, 4));
    await settled();
    assert.ok(second.isRunning());
    await finishAll([second, ...others]);
  });

  test('that is closed rejects what waits with its reason at once, and nobody else', async (t) => {
    const [one, other] = [startInstance(t, 1), startInstance(t, 1)];
    const [holder, waiting, neighbour] = [other.run(), one.run(), other.run()];
    await settled();
    const reason = new Error('closed');
    one.close(reason);
    await assert.rejects(waiting.done, reason);
    await assert.rejects(one.run().done, reason);
    await holder.finish();
    await settled();
    assert.deepEqual(running([waiting, neighbour]), [false, true]);
    await neighbour.finish();
  });
});

test('access types take turns, and those that run nothing have a quarter of the places kept for them', async (t) => {
  const { run } = startInstance(t, 8);
  await finishAll([run({ accessType: 'b' }), run({ accessType: 'c' })]);
  const busy = many(10, () => run({ accessType: 'a' }));
  await settled();
  assert.equal(running(busy).filter(Boolean).length, 6);
  const [b, c, again] = [run({ accessType: 'b' }), run({ accessType: 'c' }), run({ accessType: 'b' })];
  await settled();
  assert.deepEqual(running([b, c, again]), [true, true, false]);
  await finishAll([...busy, b, c, again]);
});

describe('plugin inputs', () => {
  test('of one access type: those whose last run succeeded come first, then new ones, then those whose last run failed', async (t) => {
    const { run } = startInstance(t, 1);
    const holder = run();
    const order: Past[] = ['failed', 'new', 'succeeded', 'failed', 'new', 'succeeded'];
    const ended: Past[] = [];
    const runs = order.map((past) => {
      const started = run({ history: historyOf(past) });
      started.done.then(() => ended.push(past));
      return started;
    });
    await holder.finish();
    await until(t, async () => {
      for (const one of runs) if (one.isRunning()) await one.finish();
      return ended.length === order.length;
    });
    assert.deepEqual(ended, ['succeeded', 'succeeded', 'new', 'new', 'failed', 'failed']);
  });

  test('are judged by their last run', async (t) => {
    const { run } = startInstance(t, 1);
    const history = historyOf('new');
    const failing = run({ history });
    const error = new Error('failed');
    await assert.rejects(failing.finish(error), error);
    assert.equal(history.lastRun, 'failed');
    await run({ history }).finish();
    assert.equal(history.lastRun, 'succeeded');
  });

  test('whose last run failed leave a quarter of the places to the others', async (t) => {
    const { run } = startInstance(t, 8);
    const failing = many(20, () => run({ history: historyOf('failed') }));
    await settled();
    assert.equal(running(failing).filter(Boolean).length, 6);
    const others = [run(), run({ history: historyOf('new') })];
    await settled();
    assert.deepEqual(running(others), [true, true]);
    await finishAll([...others, ...failing]);
  });

  for (const [honest, hanging] of [
    ['succeeded', 'new'],
    ['succeeded', 'failed'],
    ['new', 'failed'],
  ] as const) {
    test(`whose history is "${honest}" wait for at most two timeouts behind 200 that hang and have "${hanging}"`, async (t) => {
      const { run } = startInstance(t, 16);
      const timedOut = new Error('timed out');
      const bad = many(200, () => run({ history: historyOf(hanging) }));
      const good = many(200, () => run({ history: historyOf(honest) }));
      for (let timeouts = 0; timeouts < 2; timeouts++) {
        // The honest ones end much faster than a timeout.
        for (let ended = -1; ended < good.filter((one) => one.isRunning()).length; await settled()) {
          const begun = good.filter((one) => one.isRunning());
          await finishAll(begun);
          ended = begun.length;
        }
        for (const one of bad.filter((one) => one.isRunning())) one.finish(timedOut).catch(() => undefined);
        await settled();
      }
      assert.ok(good.every((one) => one.isRunning()));
      await finishAll(good);
      await Promise.allSettled(bad.map((one) => one.finish()));
    });
  }
});
