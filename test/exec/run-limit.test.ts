import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { RunHistory } from '../../src/exec/run-history.ts';
import { type RunRequest, withinRunLimit } from '../../src/exec/run-limit.ts';
import { PluginError, RestConfig } from '../../src/index.ts';
import { historyOf, type Past } from '../fixtures/run-history.ts';
import { print, shellPlugin } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';

/** An instance with a limit; `run` asks for a place, and what it gives is under way until it is ended. */
function startInstance(t: TestContext, limit: number, timeoutMs = 60_000) {
  const closing = new AbortController();
  t.after(() => closing.abort());
  const run = (more: Partial<RunRequest> = {}) => {
    let end = () => {};
    let begun = false;
    const work = (ms: number) => {
      begun = true;
      return new Promise<number>((resolve) => {
        end = () => resolve(ms);
      });
    };
    const request = {
      signal: closing.signal,
      limit,
      accessType: 'a',
      history: historyOf('answers'),
      timeoutMs,
      ...more,
    };
    const done = withinRunLimit(request, work);
    done.catch(() => undefined);
    const finish = async () => {
      await until(t, () => begun);
      end();
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
    await others[0]?.finish();
    await settled();
    assert.deepEqual(running([first, second]), [true, false]);
    await first.finish();
    await others[1]?.finish();
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

  test('of a kubeconfig keeps none free once its config is closed', async (t) => {
    const plugin = await shellPlugin(t, print({ token: 't' }));
    const { command } = plugin;
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' };
    const text = JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
      clusters: [{ name: 'c', cluster: { server: 'https://h' } }],
      users: [{ name: 'c', user: { exec } }],
    });
    const config = RestConfig.fromKubeConfig({ text });
    await config.ready();
    const { run } = startInstance(t, 2);
    const before = many(2, () => run());
    await settled();
    assert.deepEqual(running(before), [true, false]);
    await config.close();
    await before[0]?.finish();
    const after = run();
    await settled();
    assert.deepEqual(running([...before, after]), [true, true, true]);
    await finishAll([...before.slice(1), after]);
  });

  test('that is closed, or that nobody has any more, keeps no place free for its access types', async (t) => {
    const closed = startInstance(t, 8);
    await finishAll(['b', 'c', 'd'].map((accessType) => closed.run({ accessType })));
    closed.close();
    await finishAll(
      ['b', 'c', 'd'].map((accessType) => {
        const signal = new AbortController().signal;
        return startInstance(t, 8).run({ accessType, signal });
      }),
    );
    const instance = startInstance(t, 8);
    await until(t, async () => {
      globalThis.gc?.();
      await settled();
      const runs = many(8, () => instance.run());
      await settled();
      const all = running(runs).every(Boolean);
      await finishAll(runs);
      return all;
    });
  });
});

describe('access types', () => {
  test('take turns, and those that run nothing have a quarter of the places kept for them', async (t) => {
    const { run } = startInstance(t, 8);
    await finishAll([run({ accessType: 'b' }), run({ accessType: 'c' })]);
    const many = Array.from({ length: 10 }, () => run({ accessType: 'a' }));
    await settled();
    assert.equal(running(many).filter(Boolean).length, 6);
    const [b, c, again] = [run({ accessType: 'b' }), run({ accessType: 'c' }), run({ accessType: 'b' })];
    await settled();
    assert.deepEqual(running([b, c, again]), [true, true, false]);
    await finishAll([...many, b, c, again]);
  });
});

describe('plugin inputs', () => {
  test('of one access type: those that answer come first, then new ones, then those that hang', async (t) => {
    const { run } = startInstance(t, 1);
    const holder = run();
    const order: Past[] = ['hangs', 'new', 'answers', 'hangs', 'new', 'answers'];
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
    assert.deepEqual(ended, ['answers', 'answers', 'new', 'new', 'hangs', 'hangs']);
  });

  test('that hang leave a quarter of the places to the others', async (t) => {
    const { run } = startInstance(t, 8);
    const hanging = many(20, () => run({ history: historyOf('hangs') }));
    await settled();
    assert.equal(running(hanging).filter(Boolean).length, 6);
    const others = [run(), run({ history: historyOf('new') })];
    await settled();
    assert.deepEqual(running(others), [true, true]);
    await finishAll([...others, ...hanging]);
  });

  test('that are new have all of their time where one or two of them hang', async (t) => {
    const { run } = startInstance(t, 8, 1);
    const failed = (ms: number) =>
      Promise.reject(new PluginError('PLUGIN_TIMEOUT', `${ms}`, { provider: 'a', origin: 'a', command: 'c' }));
    const closing = new AbortController();
    t.after(() => closing.abort());
    const request = () => ({
      signal: closing.signal,
      limit: 8,
      accessType: 'a',
      history: new RunHistory(),
      timeoutMs: 1_000,
    });
    for (let i = 0; i < 2; i++) await assert.rejects(withinRunLimit(request(), failed));
    const granted = await Promise.all(
      Array.from({ length: 40 }, () => withinRunLimit(request(), async (ms) => settled().then(() => ms))),
    );
    assert.deepEqual(new Set(granted), new Set([1_000]));
    await run().finish();
  });
});
