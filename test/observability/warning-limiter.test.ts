import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import type { Logger } from '../../src/index.ts';
import { WarningLimiter } from '../../src/observability/warning-limiter.ts';
import type { FakeCluster, PluginAnswer } from '../../src/testing/index.ts';
import { profileFor, startCluster, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { until } from '../fixtures/until.ts';

/** Keeps every line of a log. */
class Lines implements Logger {
  readonly all: { readonly level: string; readonly fields: object; readonly message: string }[] = [];
  readonly #say = (level: string) => (fields: object, message: string) => {
    this.all.push({ level, fields, message });
  };
  readonly warn = this.#say('warn');
  readonly info = this.#say('info');
  readonly debug = this.#say('debug');

  of(level: string, about = ''): readonly string[] {
    return this.all
      .filter((line) => line.level === level && line.message.includes(about))
      .map(({ message }) => message);
  }
}

const start = Date.UTC(2030, 0);
const token: PluginAnswer = { token: 'token-1' };

/** Two clusters that share one plugin's credential, and a clock that the test moves. */
async function startPair(t: TestContext) {
  const clusters = [await startCluster(t), await startCluster(t)];
  const plugin = await startPlugin(t);
  const clock = { now: start };
  const log = new Lines();
  const rules = { profileSourcedEnvVarsPolicy: 'AppendIfNotExists' } as const;
  const providers = startProviders(t, plugin, { logger: log, clock: () => clock.now }, rules);
  /** What each of the two asks for beside its server. */
  const more: { extensions?: readonly object[]; 'proxy-url'?: string } = {};
  const configs = () =>
    clusters.map((cluster, index) => {
      const profile = profileFor(cluster, more);
      return providers.getConfig({ ...profile, metadata: { namespace: 'fleet', name: `spoke-${index + 1}` } });
    });
  /** Three requests to each at once, through new configs, as reconciles make them. */
  const request = async () => {
    const requests = configs().flatMap((config) =>
      Array.from({ length: 3 }, () => config.makeApiClient(CoreV1Api).listNamespace()),
    );
    const outcomes = await Promise.allSettled(requests);
    return outcomes.filter(({ status }) => status === 'rejected').length;
  };
  const answer = async (next: PluginAnswer, { forget = true } = {}) => {
    await plugin.answer(next);
    if (forget) configs()[0]?.invalidate();
  };
  return { clusters, plugin, clock, log, more, configs, request, answer };
}

type Pair = Awaited<ReturnType<typeof startPair>>;
const inMinutes = (clock: Pair['clock'], minutes: number) => new Date(clock.now + minutes * 60_000).toISOString();
const each = (pair: Pair, change: (cluster: FakeCluster) => unknown) => Promise.all(pair.clusters.map(change));

/** A kind of warning: how it comes, how it passes, and what is said of it. */
interface Kind {
  readonly comes: (pair: Pair, t: TestContext) => unknown;
  readonly passes: (pair: Pair, t: TestContext) => unknown;
  readonly warning: RegExp;
  /** What is said at info when it has passed. */
  readonly passed?: RegExp;
}

const kinds: Readonly<Record<string, Kind>> = {
  'a plugin that gives no credential': {
    comes: ({ answer }) => answer({ exitCode: 3, stderr: 'the issuer is away' }),
    passes: ({ answer }) => answer(token),
    warning: /access provider fake: plugin \S+: failed with exit code 3\\nstderr: the issuer is away/,
    passed: /there is a credential again$/,
  },
  'a refresh ahead of expiry that fails': {
    comes: async (pair, t) => {
      const { answer, clock, request } = pair;
      await answer({ ...token, expirationTimestamp: inMinutes(clock, 60) });
      await request();
      clock.now += 55 * 60_000;
      await answer({ exitCode: 4 }, { forget: false });
      const failures = () => pair.log.of('debug', 'exit code 4').length;
      const before = failures();
      await request();
      await until(t, () => failures() > before);
      await request();
    },
    passes: ({ answer }) => answer(token),
    warning: /a refresh in the background failed, and the old credential stays in use: .* exit code 4/,
  },
  'a server that refuses the credential': {
    comes: (pair) => each(pair, (cluster) => cluster.setTokens({})),
    passes: async (pair) => {
      await each(pair, (cluster) => cluster.setTokens({ 'token-1': 'me' }));
      pair.clock.now += 60_000;
    },
    warning: /the server refuses the credential \(401\)/,
    passed: /the server takes the credential again$/,
  },
  'a server that is down': {
    comes: (pair) => each(pair, (cluster) => cluster.close()),
    passes: (pair) => each(pair, (cluster) => cluster.restart()),
    warning: /nothing is listening there: .* \(ECONNREFUSED\)/,
    passed: /the server answers again$/,
  },
  'an answer that has expired already': {
    comes: ({ answer, clock }) => answer({ ...token, expirationTimestamp: inMinutes(clock, -10) }),
    passes: ({ answer }) => answer(token),
    warning: /returned a credential that expired 600 s ago; it is used all the same/,
  },
  'something that the profile asks for and does not get': {
    comes: ({ more }) => {
      more.extensions = [{ name: 'example.dev/other', extension: {} }];
    },
    passes: ({ more }) => {
      delete more.extensions;
    },
    warning: /extensions\[0\] is not applied: "example\.dev\/other" is not an extension that this library reads/,
  },
};

describe('is warned about once for each cluster, and again when it has passed and come back:', () => {
  for (const [name, { comes, passes, warning, passed }] of Object.entries(kinds)) {
    test(name, async (t) => {
      const pair = await startPair(t);
      const { log, request } = pair;
      assert.equal(await request(), 0);
      for (const time of [1, 2]) {
        await comes(pair, t);
        for (let i = 0; i < 3; i++) await request();
        for (const cluster of ['ClusterProfile fleet/spoke-1, https://', 'ClusterProfile fleet/spoke-2, https://']) {
          const lines = log.of('warn').filter((line) => line.startsWith(cluster));
          assert.equal(lines.length, time, lines.join('\n'));
          assert.match(lines.at(-1) ?? '', warning);
        }
        assert.equal(log.of('warn').length, 2 * time, log.of('warn').join('\n'));
        await passes(pair, t);
        assert.equal(await request(), 0, 'all is well again');
        if (passed) assert.equal(log.of('info').filter((line) => passed.test(line)).length, 2 * time);
      }
      const fields = log.all.find(({ level }) => level === 'warn')?.fields;
      assert.match(String(Reflect.get(Object(fields), 'profile')), /^fleet\/spoke-[12]$/);
    });
  }
});

describe('the limiter', () => {
  const register = () => {
    const clock = { now: start };
    const log = new Lines();
    return { clock, log, warnings: new WarningLimiter({ logger: log, clock: () => clock.now }) };
  };
  const subject = (name: string) => ({ name, fields: { profile: name } });

  test('warns of a flapping problem five times, and then once a minute', () => {
    const { clock, log, warnings } = register();
    for (let second = 0; second < 600; second++) {
      clock.now = start + second * 1_000;
      warnings.add(subject('a'), 'connection', { code: 'CONNECT_FAILED', message: 'a is away' });
      warnings.clear(subject('a'), 'connection', 'a is back');
    }
    assert.equal(log.of('info').length, log.of('warn').length, 'it is said to have passed only where it was logged');
    assert.ok(log.of('warn').length >= 13 && log.of('warn').length <= 16, String(log.of('warn').length));
    assert.equal(log.of('debug').length, 600 - log.of('warn').length);
  });

  test('warns once more of a flapping problem that has become permanent, and logs that it has cleared', () => {
    const { clock, log, warnings } = register();
    const away = { code: 'CONNECT_FAILED', message: 'a is away' } as const;
    for (let times = 0; times < 6; times++) {
      clock.now += 1_000;
      warnings.clear(subject('a'), 'connection', 'a is back');
      warnings.add(subject('a'), 'connection', away);
    }
    assert.equal(log.of('warn').length, 5, 'the sixth is one too many');
    assert.equal(log.of('debug').length, 1);
    for (let minute = 0; minute < 60; minute++) {
      clock.now += 60_000;
      warnings.add(subject('a'), 'connection', away);
    }
    assert.equal(log.of('warn').length, 6);
    assert.equal(log.of('debug').length, 1);
    warnings.clear(subject('a'), 'connection', 'a is back');
    assert.equal(log.of('info').at(-1), 'a is back');
  });

  test('warns of what happens, and does not last, once a minute at most, each by itself', () => {
    const { clock, log, warnings } = register();
    const refused = (target: string) =>
      warnings.add(subject('a'), 'refusal', {
        code: 'FOREIGN_ORIGIN',
        key: `FOREIGN_ORIGIN ${target}`,
        message: target,
      });
    for (let second = 0; second < 180; second++) {
      clock.now = start + second * 1_000;
      refused('one');
      if (second === 90) refused('two');
    }
    assert.deepEqual(log.of('warn'), ['one', 'one', 'two', 'one']);
    for (let i = 0; i < 1_000; i++) refused(`scan-${i}`);
    assert.ok(log.of('warn').length < 10, 'those who try many are not told one by one');
  });

  test('keeps clusters, kinds and codes apart', () => {
    const { log, warnings } = register();
    for (let i = 0; i < 200; i++) {
      for (const name of ['a', 'b'])
        for (const kind of ['credential', 'connection'] as const)
          for (const key of ['X', 'Y']) warnings.add(subject(name), kind, { key, message: `${name} ${kind} ${key}` });
    }
    assert.equal(log.of('warn').length, 8);
    assert.equal(new Set(log.of('warn')).size, 8);
    warnings.clear(subject('a'), 'connection');
    const has = (name: string) => warnings.has(subject(name), 'connection');
    assert.deepEqual([has('a'), has('b')], [false, true]);
  });

  test('clears one problem of a kind, and says whether a problem was warned about before', () => {
    const { log, warnings } = register();
    const fails = (key: string) => warnings.add(subject('a'), 'reconcile', { key, message: `${key} fails` });
    assert.deepEqual(['x', 'y', 'x'].map(fails), [true, true, false]);
    warnings.clearOne(subject('a'), 'reconcile', 'x');
    assert.deepEqual(['x', 'y'].map(fails), [true, false]);
    assert.deepEqual(log.of('warn'), ['x fails', 'y fails', 'x fails']);
  });

  test('is bounded: of very many clusters the oldest are forgotten', () => {
    const { log, warnings } = register();
    const warning = { key: 'X', message: 'away' };
    for (let i = 0; i < 20_001; i++) warnings.add(subject(`cluster-${i}`), 'connection', warning);
    assert.equal(warnings.has(subject('cluster-0'), 'connection'), false);
    assert.equal(warnings.has(subject('cluster-20000'), 'connection'), true);
    assert.equal(log.of('warn').length, 20_001);
  });
});
