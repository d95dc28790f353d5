// An honest plugin input beside others that hang or are slow: how long it waits, in a time of the test's own.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { RunHistory } from '../../src/exec/run-history.ts';
import { withinRunLimit } from '../../src/exec/run-limit.ts';
import { CredentialProviders, PluginError } from '../../src/index.ts';
import { historyOf, type Past } from '../fixtures/run-history.ts';
import { shellPlugin } from '../fixtures/script.ts';
import { VirtualTime } from '../fixtures/virtual-time.ts';

/** The signal of an instance that is closed with its test: one that is not keeps places free. */
function instanceOf(t: TestContext): AbortSignal {
  const closing = new AbortController();
  t.after(() => closing.abort());
  return closing.signal;
}

describe('plugin inputs', () => {
  /** Hanging inputs, one honest one among them; gives how many timeouts have passed at each place when that one begins. */
  async function timeoutsBeside(t: TestContext, hanging: number, limit: number, position: number, past: Past) {
    const timeoutMs = 60;
    const time = new VirtualTime();
    const signal = instanceOf(t);
    const hang = (ms: number) =>
      time.sleep(ms).then(() => {
        throw new PluginError('PLUGIN_TIMEOUT', 'hangs', { provider: 'a', origin: 'a', command: 'c' });
      });
    const request = { signal, limit, accessType: 'a', timeoutMs, now: time.now };
    const runs: Promise<unknown>[] = [];
    let began: { readonly after: number; readonly ms: number } | undefined;
    for (let i = 0; i <= hanging; i++) {
      const honest = i === position;
      runs.push(
        honest
          ? withinRunLimit({ ...request, history: historyOf(past, timeoutMs, 0) }, async (ms) => {
              began = { after: time.now() / timeoutMs, ms };
            })
          : withinRunLimit({ ...request, history: new RunHistory() }, hang).catch(() => undefined),
      );
    }
    await time.during(Promise.all(runs));
    assert.ok(began);
    return { after: began.after, share: began.ms / timeoutMs };
  }

  for (const limit of [4, 8, 16]) {
    for (const [where, position] of [
      ['before them', 0],
      ['in their middle', 32],
      ['after them', 64],
    ] as const) {
      test(`that are honest wait two timeouts at most beside 64 new ones that hang: ${limit} places, asked ${where}`, async (t) => {
        const { after, share } = await timeoutsBeside(t, 64, limit, position, 'new');
        assert.ok(after <= 2, `${after} timeouts`);
        assert.ok(share >= 1 / 20, `a share of ${share}`);
        if (position === 64) assert.equal(share, 1, 'the last one has all of its time');
      });
    }
    test(`that are known to answer wait one timeout at most beside them: ${limit} places`, async (t) => {
      const { after, share } = await timeoutsBeside(t, 64, limit, 64, 'answers');
      assert.ok(after <= 1, `${after} timeouts`);
      assert.equal(share, 1);
    });
  }

  test('that are slow, and have waited long enough, begin beside quick ones that take every place', async (t) => {
    const closing = new AbortController();
    t.after(() => closing.abort());
    const [time, timeoutMs, limit] = [new VirtualTime(), 60_000, 8];
    const request = { signal: closing.signal, limit, accessType: 'a', timeoutMs, now: time.now };
    const pastOf = (usedMs: number) => {
      const history = new RunHistory();
      history.add(usedMs, false, timeoutMs, time.now());
      return history;
    };
    const isOver = () => closing.signal.aborted;
    const quick = Array.from({ length: 2 * limit }, async () => {
      while (!isOver()) {
        await withinRunLimit({ ...request, history: pastOf(1_000) }, () => time.sleep(1_000)).catch(() => undefined);
      }
    });
    let [slowNow, slowAtOnce, slowEnded] = [0, 0, 0];
    const slow = Array.from({ length: 2 * limit }, () =>
      withinRunLimit({ ...request, history: pastOf(20_000) }, async () => {
        slowNow += 1;
        slowAtOnce = Math.max(slowAtOnce, slowNow);
        await time.sleep(20_000);
        slowNow -= 1;
        slowEnded += 1;
      }),
    );
    // They have paid for their last run after 20 of the same length.
    await time.until(() => slowEnded === slow.length || time.now() > 30 * 20_000);
    assert.equal(slowEnded, slow.length);
    assert.equal(slowAtOnce, 6, 'a quarter of the places is left to the others');
    closing.abort();
    await time.during(Promise.all([...quick, ...slow]));
  });

  test('that are new have all of their time, however long those before them have hung that are gone', async (t) => {
    const [time, timeoutMs] = [new VirtualTime(), 60_000];
    const signal = instanceOf(t);
    const run = (work: (ms: number) => Promise<unknown>) =>
      withinRunLimit(
        { signal, limit: 4, accessType: 'a', timeoutMs, now: time.now, history: new RunHistory() },
        work,
      ).catch(() => undefined);
    const hang = async (ms: number) => {
      await time.sleep(ms);
      throw new PluginError('PLUGIN_TIMEOUT', 'hangs', { provider: 'a', origin: 'a', command: 'c' });
    };
    await time.during(Promise.all(Array.from({ length: 8 }, () => run(hang))));
    const given = new Set<number>();
    const honest = (ms: number) => {
      given.add(ms);
      return time.sleep(4_000);
    };
    await time.during(Promise.all(Array.from({ length: 100 }, () => run(honest))));
    assert.deepEqual(given, new Set([timeoutMs]));
  });
});

describe('an honest input, beside bad ones that always want to run, and 4 places', () => {
  const [timeoutMs, limit, count] = [60, 4, 32];

  interface Bad {
    /** What a run would take, as a share of the timeout; `wasQuick` until the honest one asks. */
    readonly takes: number;
    readonly wasQuick?: boolean;
    readonly fails?: boolean;
    /** Each run is of another input, as when a profile is changed again and again. */
    readonly isEachNew?: boolean;
    readonly count?: number;
    /** Timeouts that an honest one may wait beside them. */
    readonly most?: number;
  }
  const kinds: Readonly<Record<string, Bad>> = {
    'that hang': { takes: 2 },
    'that are slow, and answer just before their timeout': { takes: 0.85 },
    'that are slow, and fail': { takes: 0.85, fails: true },
    'that take less than half of it': { takes: 0.45 },
    'that take a fifth of it': { takes: 0.2 },
    'that are quick, and whose credentials expire at once': { takes: 0.03 },
    // Each kind has to be seen first: those that ran before, and those that never have.
    'that are quick until they are slow all at once': { takes: 0.85, wasQuick: true, most: 3 },
    'that were never seen before, and hang': { takes: 2, isEachNew: true },
    'that were never seen before, and are slow': { takes: 0.85, isEachNew: true },
    'that are twice as many, and slow': { takes: 0.85, count: 64 },
  };

  /** Timeouts that one who asks waits. */
  async function wait(t: TestContext, bad: Bad, honest: Past): Promise<number> {
    const closing = new AbortController();
    t.after(() => closing.abort());
    const time = new VirtualTime();
    const request = { signal: closing.signal, limit, accessType: 'a', timeoutMs, now: time.now };
    let [runs, asked] = [0, false];
    const one = async (given: number) => {
      const takes = (bad.wasQuick && !asked ? 0.01 : bad.takes) * timeoutMs;
      const used = Math.min(takes, given);
      runs += 1;
      await time.sleep(used);
      const code = takes > given ? 'PLUGIN_TIMEOUT' : 'PLUGIN_FAILED';
      if (bad.fails || takes > given) throw new PluginError(code, 'x', { provider: 'a', origin: 'a', command: 'c' });
    };
    const inputs = bad.count ?? count;
    const loops = Array.from({ length: inputs }, async () => {
      const history = new RunHistory();
      while (!closing.signal.aborted) {
        const input = { ...request, history: bad.isEachNew ? new RunHistory() : history };
        await withinRunLimit(input, one).catch(() => undefined);
      }
    });
    await time.until(() => runs > 2 * inputs);
    asked = true;
    const history = historyOf(honest, timeoutMs, time.now());
    const askedAt = time.now();
    const begunAt = await time.during(withinRunLimit({ ...request, history }, async () => time.now()));
    closing.abort();
    await time.during(Promise.all(loops));
    return (begunAt - askedAt) / timeoutMs;
  }

  for (const [kind, bad] of Object.entries(kinds)) {
    for (const [who, past] of [
      ['a new one', 'new'],
      ['one that answers', 'answers'],
    ] as const) {
      test(`waits ${bad.most ?? 2} timeouts at most: ${who}, beside those ${kind}`, async (t) => {
        const timeouts = await wait(t, bad, past);
        assert.ok(timeouts <= (bad.most ?? 2), `${timeouts} timeouts`);
      });
    }
  }
});

describe('profiles whose plugin hangs', () => {
  test('share the time when many of them wait, and their errors say so', async (t) => {
    const plugin = await shellPlugin(t, 'exec sleep 1000');
    const execConfig = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: plugin.command,
      provideClusterInfo: true,
    } as const;
    const providers = new CredentialProviders([{ name: 'a', execConfig }], { maxConcurrentRuns: 1, timeoutMs: 400 });
    t.after(() => providers.close());
    const ready = (port: number) => {
      const cluster = { server: `https://127.0.0.1:${port}` };
      return providers.getConfig({ status: { accessProviders: [{ name: 'a', cluster }] } }).ready();
    };
    const outcomes = await Promise.allSettled([1, 2, 3].map(ready));
    const [first, second, third] = outcomes.map((outcome) =>
      outcome.status === 'rejected' ? outcome.reason : undefined,
    );
    assert.match(first.message, /gave no answer within 400 ms and was killed/);
    assert.match(
      second.message,
      /gave no answer within 50 ms, a part of its 400 ms \(others .* take long, and more wait/,
    );
    assert.match(third.message, /gave no answer within 400 ms and was killed/, 'nobody waits behind it');
    assert.equal(second.code, 'PLUGIN_TIMEOUT');
  });
});
