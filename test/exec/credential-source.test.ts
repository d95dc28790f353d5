import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { PluginError } from '../../src/errors.ts';
import { backoffMs } from '../../src/exec/backoff.ts';
import { CredentialSource } from '../../src/exec/credential-source.ts';
import { Rejections } from '../../src/exec/rejections.ts';
import { type PluginAnswer, type TestPlugin, writePlugin } from '../../src/testing/index.ts';
import { Troubles } from '../../src/troubles.ts';
import { until } from '../fixtures/until.ts';

const start = Date.UTC(2030, 0);
const minutes = (count: number) => count * 60_000;
const inMinutes = (count: number) => new Date(start + minutes(count)).toISOString();

/** A source with a real plugin and a clock that the test moves. */
async function set(t: TestContext, answer: PluginAnswer) {
  const plugin: TestPlugin = await writePlugin(answer);
  t.after(() => plugin.remove());
  const clock = { now: start };
  const logger = { warn: () => undefined };
  const stop = new AbortController();
  t.after(() => stop.abort());
  const create = () =>
    new CredentialSource(
      {
        provider: 'google',
        origin: 'access provider google',
        exec: {
          apiVersion: 'client.authentication.k8s.io/v1',
          command: plugin.command,
          args: [],
          env: [],
          provideClusterInfo: false,
          interactiveMode: 'Never',
        },
        acceptedVersions: ['client.authentication.k8s.io/v1'],
        cluster: undefined,
      },
      {
        timeoutMs: 60_000,
        maxConcurrentRuns: 4,
        cleanEnvironment: false,
        pluginPolicy: { policyType: 'AllowAll' },
        strictPluginFiles: false,
        clock: () => clock.now,
        logger,
        troubles: new Troubles({ logger, clock: () => clock.now }),
        signal: stop.signal,
      },
    );
  const source = create();
  const token = async () => (await source.get()).authorization;
  /** The refresh behind the requests has no promise of its own: wait until its result is there. */
  const refreshed = async (authorization: string) => {
    await until(t, async () => (await token()) === authorization);
  };
  /** What is wrong with a credential that serves all the same. */
  const troubles = () => source.troubles.map(({ message }) => message).join();
  return { plugin, clock, troubles, source, create, token, refreshed };
}

describe('one run for many', () => {
  test('a hundred concurrent requests share one run, and later ones its result, at once', async (t) => {
    const { plugin, source, token } = await set(t, { token: 'a' });
    const tokens = await Promise.all(Array.from({ length: 100 }, token));
    assert.deepEqual(new Set(tokens), new Set(['Bearer a']));
    assert.ok(!(source.get() instanceof Promise));
    assert.equal(await plugin.runs(), 1);
  });

  test('all who wait for a run fail with it', async (t) => {
    const { plugin, token } = await set(t, { exitCode: 1 });
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, token));
    assert.ok(outcomes.every((outcome) => outcome.status === 'rejected' && outcome.reason instanceof PluginError));
    assert.equal(await plugin.runs(), 1);
  });
});

test('a failure says at once for how long the next run is held back', async (t) => {
  const { token } = await set(t, { exitCode: 1 });
  const errors = await Promise.all(Array.from({ length: 3 }, () => token().catch((error: unknown) => error)));
  for (const error of errors) {
    assert.ok(error instanceof PluginError);
    assert.ok((error.retryAfterMs ?? 0) > 700 && (error.retryAfterMs ?? 0) <= 1_000, String(error.retryAfterMs));
  }
});

describe('when the plugin runs', () => {
  test('without expiry: once', async (t) => {
    const { plugin, clock, token } = await set(t, { token: 'a' });
    await token();
    clock.now += minutes(60 * 24 * 365);
    await token();
    assert.equal(await plugin.runs(), 1);
  });

  test('when the expiry has passed; equal is still valid', async (t) => {
    const { plugin, clock, token } = await set(t, { token: 'a', expirationTimestamp: inMinutes(60) });
    await token();
    await plugin.answer({ exitCode: 1 });
    clock.now = start + minutes(60);
    assert.equal(await token(), 'Bearer a');
    clock.now += 1;
    await assert.rejects(token, PluginError);
  });

  test('ahead of expiry, behind requests that are served with the old credential meanwhile', async (t) => {
    const { plugin, clock, token, refreshed } = await set(t, { token: 'a', expirationTimestamp: inMinutes(60) });
    await token();
    clock.now += minutes(41);
    await token();
    assert.equal(await plugin.runs(), 1, 'too early: less than 70 % of the lifetime');
    await plugin.answer({ token: 'b', expirationTimestamp: inMinutes(120), delayMs: 100 });
    clock.now = start + minutes(55);
    assert.equal(await token(), 'Bearer a');
    await refreshed('Bearer b');
    assert.equal(await plugin.runs(), 2);
  });

  test('a refresh ahead of expiry that fails is held back, and the old credential serves until it expires', async (t) => {
    const { plugin, clock, source, token, troubles } = await set(t, { token: 'a', expirationTimestamp: inMinutes(60) });
    await token();
    await plugin.answer({ exitCode: 3 });
    clock.now = start + minutes(55);
    await token();
    await until(t, () => troubles() !== '');
    for (let i = 0; i < 50; i++) assert.equal(await token(), 'Bearer a');
    assert.equal(source.runs, 2);
    assert.match(troubles(), /the old credential serves on: .*exit code 3/);
  });

  test('a short-lived credential is not refreshed at every request', async (t) => {
    const expirationTimestamp = new Date(start + 240_000).toISOString();
    const { plugin, clock, token } = await set(t, { token: 'a', expirationTimestamp });
    for (let i = 0; i < 100; i++) {
      await token();
      clock.now += 1_000;
    }
    assert.equal(await plugin.runs(), 1);
  });
});

describe('a fleet', () => {
  test('of 50 sources that all got a one-hour credential at once spreads its refreshes', async (t) => {
    const { plugin, clock, create } = await set(t, { token: 'a', expirationTimestamp: inMinutes(60) });
    const sources = Array.from({ length: 50 }, create);
    await Promise.all(sources.map((source) => source.get()));
    await plugin.answer({ token: 'b', expirationTimestamp: inMinutes(600) });
    const started: number[] = [];
    for (let minute = 0; minute < 60; minute++) {
      const before = sources.reduce((sum, { runs }) => sum + runs, 0);
      for (const source of sources) source.get();
      started.push(sources.reduce((sum, { runs }) => sum + runs, 0) - before);
      clock.now += minutes(1);
    }
    assert.equal(
      started.reduce((sum, count) => sum + count),
      50,
    );
    // 70 % to 90 % of an hour: about 4 in each of twelve minutes.
    const busy = started.flatMap((count, minute) => (count > 0 ? [minute] : []));
    assert.ok(Math.max(...started) < 20, `${Math.max(...started)} in one minute`);
    assert.ok((busy[0] ?? 0) >= 42 && (busy.at(-1) ?? 60) <= 55, busy.join());
    await Promise.all(sources.map((source) => until(t, async () => (await source.get()).authorization === 'Bearer b')));
    assert.equal(await plugin.runs(), 100);
  });
});

describe('a clock that steps', () => {
  test('forward past the expiry makes the next request wait for a run', async (t) => {
    const { plugin, clock, token } = await set(t, { token: 'a', expirationTimestamp: inMinutes(60) });
    await token();
    await plugin.answer({ token: 'b', expirationTimestamp: inMinutes(600) });
    clock.now += minutes(120);
    assert.equal(await token(), 'Bearer b');
  });

  test('back keeps the credential, and runs nothing', async (t) => {
    const { plugin, clock, token } = await set(t, { token: 'a', expirationTimestamp: inMinutes(60) });
    await token();
    clock.now -= minutes(600);
    for (let i = 0; i < 20; i++) assert.equal(await token(), 'Bearer a');
    assert.equal(await plugin.runs(), 1);
  });

  test('back does not hold a failing plugin back for longer than was said', async (t) => {
    const { plugin, clock, token } = await set(t, { exitCode: 1 });
    await assert.rejects(token);
    await assert.rejects(token);
    assert.equal(await plugin.runs(), 1);
    clock.now -= minutes(600);
    await assert.rejects(token);
    await assert.rejects(token);
    assert.equal(await plugin.runs(), 2);
  });

  test('to and fro does not make a hot loop', async (t) => {
    const { source, clock, token } = await set(t, { token: 'a', expirationTimestamp: inMinutes(60) });
    for (let i = 0; i < 200; i++) {
      clock.now = start + (i % 2) * 500;
      await token();
    }
    assert.equal(source.runs, 1);
  });
});

describe('an answer that has already expired', () => {
  test('is used, with a word, and held back like a failure', async (t) => {
    const { plugin, clock, token, troubles } = await set(t, { token: 'a', expirationTimestamp: inMinutes(-10) });
    for (let i = 0; i < 50; i++) assert.equal(await token(), 'Bearer a');
    assert.equal(await plugin.runs(), 1);
    clock.now += 1_001;
    assert.equal(await token(), 'Bearer a');
    assert.equal(await plugin.runs(), 2);
    assert.match(
      troubles(),
      /^access provider google: plugin \S+ returned a credential that expired 601 s ago; it is used all the same\. Check the clocks/,
    );
    await plugin.answer({ token: 'b', expirationTimestamp: inMinutes(60) });
    clock.now += 2_001;
    assert.equal(await token(), 'Bearer b');
    assert.equal(troubles(), '');
  });
});

describe('a failing plugin', () => {
  test('is held back for 1 s, doubling to 30 s; meanwhile callers get its last error at once', async (t) => {
    const { clock, source, token } = await set(t, { exitCode: 7 });
    const seconds: number[] = [];
    while (seconds.length < 8) {
      const runs = source.runs;
      const began = clock.now;
      while (source.runs === runs) {
        await assert.rejects(token, (error) => error instanceof PluginError && error.exitCode === 7);
        if (source.runs === runs) clock.now += 250;
      }
      seconds.push((clock.now - began) / 1000);
    }
    const [first, ...holds] = seconds;
    assert.equal(first, 0);
    for (const [index, hold] of holds.entries()) {
      const full = Math.min(30, 2 ** index);
      assert.ok(hold >= full * 0.75 && hold <= full + 0.25, `${index}: ${hold}`);
    }
  });

  test('tells how long it is held back', async (t) => {
    const { token } = await set(t, { exitCode: 7 });
    await assert.rejects(token);
    await assert.rejects(token, ({ retryAfterMs = 0 }: PluginError) => retryAfterMs > 700 && retryAfterMs <= 1_000);
  });

  test('starts from 1 s again after a success', async (t) => {
    const { plugin, clock, source, token } = await set(t, { exitCode: 1 });
    for (let i = 0; i < 5; i++) {
      await assert.rejects(token);
      clock.now += 30_000;
    }
    await plugin.answer({ token: 'a', expirationTimestamp: new Date(clock.now + 1_000).toISOString() });
    await token();
    await plugin.answer({ exitCode: 1 });
    clock.now += 2_000;
    await assert.rejects(token);
    clock.now += 1_000;
    const { runs } = source;
    await assert.rejects(token);
    assert.equal(source.runs, runs + 1);
  });

  test('is run at once after invalidate()', async (t) => {
    const { plugin, source, token } = await set(t, { exitCode: 1 });
    await assert.rejects(token);
    await plugin.answer({ token: 'a' });
    await assert.rejects(token);
    source.invalidate();
    assert.equal(await token(), 'Bearer a');
  });
});

describe('after a 401', () => {
  test('the plugin runs once for all who used the same credential', async (t) => {
    const { plugin, source } = await set(t, { token: 'a' });
    const old = await source.get();
    await plugin.answer({ token: 'b' });
    const rejections = new Rejections();
    const fresh = await Promise.all(Array.from({ length: 10 }, () => source.afterRejection(old, rejections)));
    assert.ok(fresh.every((credential) => credential?.authorization === 'Bearer b'));
    assert.equal(await plugin.runs(), 2);
  });

  test('to a credential that is no longer the current one, the current one is given and nothing runs', async (t) => {
    const { plugin, source } = await set(t, { token: 'a' });
    const old = await source.get();
    const rejections = new Rejections();
    const current = await source.afterRejection(old, rejections);
    assert.equal(await source.afterRejection(old, rejections), current);
    assert.equal(await plugin.runs(), 2);
  });

  test('further refreshes are held back for that connection, and for no other', async (t) => {
    const { plugin, clock, source } = await set(t, { token: 'a' });
    const broken = new Rejections();
    const other = new Rejections();
    const reject = async (rejections: Rejections) => source.afterRejection(await source.get(), rejections);
    assert.ok(await reject(broken));
    for (let i = 0; i < 20; i++) assert.equal(await reject(broken), undefined);
    assert.equal(await plugin.runs(), 2);
    assert.ok(await reject(other));
    clock.now += 1_001;
    assert.ok(await reject(broken));
    clock.now += 1_001;
    assert.equal(await reject(broken), undefined, 'the second hold is 2 s');
  });

  test('a hundred connections that share a credential have ten refreshes at once, then one a second', async (t) => {
    const { plugin, clock, source } = await set(t, { token: 'a' });
    const connections = Array.from({ length: 100 }, () => new Rejections());
    const rejectAll = async () => {
      for (const rejections of connections) {
        if (await source.afterRejection(await source.get(), rejections)) rejections.accepted();
      }
    };
    await rejectAll();
    assert.equal(await plugin.runs(), 11);
    for (let second = 1; second <= 5; second++) {
      clock.now += 1_000;
      await rejectAll();
      assert.equal(await plugin.runs(), 11 + second);
    }
    clock.now -= minutes(600);
    await rejectAll();
    clock.now += 1_000;
    await rejectAll();
    assert.equal(await plugin.runs(), 17, 'a clock that is set back stops nothing');
  });

  test('connections whose refreshes never help leave room for those of others, which go first', async (t) => {
    const { plugin, clock, source } = await set(t, { token: 'a' });
    const reject = async (rejections: Rejections) => source.afterRejection(await source.get(), rejections);
    const broken = Array.from({ length: 12 }, () => new Rejections());
    const good = new Rejections();
    let lost = 0;
    const seconds = 30;
    for (let tenth = 1; tenth <= 10 * seconds; tenth++) {
      clock.now += 100;
      for (const rejections of broken) await reject(rejections);
      // Rotated every five seconds, so that a replay is accepted then.
      if (tenth % 50 !== 0) continue;
      if (await reject(good)) good.accepted();
      else lost += 1;
      clock.now += 30_000;
    }
    assert.equal(lost, 0);
    const runs = await plugin.runs();
    assert.ok(runs <= 1 + 10 + seconds + 12 * 24, `${runs} runs`);
  });

  test('a refresh that fails leaves the old credential in place, and says why', async (t) => {
    const { plugin, source, token, troubles } = await set(t, { token: 'a' });
    const old = await source.get();
    await plugin.answer({ exitCode: 9 });
    assert.equal(await source.afterRejection(old, new Rejections()), undefined);
    assert.equal(await token(), 'Bearer a');
    assert.match(troubles(), /a refresh after a 401 failed, the server's 401 goes to the caller: .*exit code 9/);
  });
});

describe('the backoff', () => {
  test('is jittered within a quarter, and never longer than 30 s', () => {
    for (const [failures, full] of [
      [1, 1_000],
      [2, 2_000],
      [5, 16_000],
      [6, 30_000],
      [10_000, 30_000],
    ] as const) {
      assert.equal(
        backoffMs(failures, () => 0),
        full * 0.75,
      );
      assert.equal(
        backoffMs(failures, () => 1),
        full,
      );
    }
  });
});
