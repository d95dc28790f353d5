import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, mock, type TestContext, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { Registry } from 'prom-client';
import { request } from 'undici';
import {
  CredentialMetrics,
  CredentialProviders,
  type CredentialProvidersOptions,
  type Logger,
  PluginError,
} from '../../src/index.ts';
import type { Observer } from '../../src/observability/telemetry.ts';
import { listenTo } from '../fixtures/channel.ts';
import { profileFor, startCluster, startFleet, startPlugin } from '../fixtures/fleet.ts';
import { temporaryFolder } from '../fixtures/script.ts';

/** What a caller's function may do to whoever calls it. */
const misdeeds: Readonly<Record<string, () => unknown>> = {
  'throw an error': () => {
    throw new Error('misdeed');
  },
  'throw what cannot be printed': () => {
    throw Object.create(null);
  },
  reject: () => Promise.reject(new Error('misdeed')),
  'reject with what cannot be printed': () =>
    Promise.reject({
      toString() {
        throw new Error('misdeed');
      },
    }),
};

const channels = ['plugin-run-start', 'plugin-run-end', 'credential', 'rejection', 'pool'] as const;

/** What was said on stderr: each thing once in a process, so the last test looks at it. */
const said: string[] = [];
mock.method(console, 'warn', (line: unknown) => said.push(String(line)));

/** Lets every rejection that nobody handles come up: it would fail the test. */
async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** A life with everything in it that anybody is told of: runs that succeed and fail, a rotation, a watch that breaks off. */
async function live(t: TestContext, options: CredentialProvidersOptions): Promise<void> {
  const { cluster, plugin, config } = await startFleet(t, { answer: { token: 'token-1', stderr: 'a word' }, options });
  const core = config.makeApiClient(CoreV1Api);
  assert.equal((await core.listNamespace()).items.length, 2);
  const { body } = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: config.dispatcher });
  const broken = assert.rejects(body.text());
  cluster.closeConnections();
  await broken;
  cluster.setTokens({ 'token-2': 'me' });
  await plugin.answer({ token: 'token-2', expirationTimestamp: '2001-01-01T00:00:00Z' });
  assert.equal((await core.listNamespace()).items.length, 2);
  await plugin.answer({ exitCode: 1 });
  config.invalidate();
  await assert.rejects(config.ready(), PluginError);
  await plugin.answer({ token: 'token-2' });
  config.invalidate();
  assert.equal((await core.listNamespace()).items.length, 2);
  assert.equal(await plugin.runs(), 4);
}

class MisbehavingMetrics extends CredentialMetrics {
  override readonly observer: Observer;
  constructor(misdeed: () => unknown) {
    super({ registry: new Registry() });
    this.observer = Object.fromEntries(channels.map((name) => [name, misdeed]));
  }
}

// They wait for cooldowns: side by side.
describe('a callback that fails ends neither the process nor what it is told of:', { concurrency: true }, () => {
  for (const [how, misdeed] of Object.entries(misdeeds)) {
    test(`a logger and metrics that ${how}`, async (t) => {
      const logger: Logger = { warn: misdeed, info: misdeed, debug: misdeed };
      await live(t, { logger, metrics: new MisbehavingMetrics(misdeed) });
      await settle();
    });
  }

  test('a listener of onChange that throws or rejects, which the log tells; the next change is told as well', async (t) => {
    const cluster = await startCluster(t);
    const plugin = await startPlugin(t);
    const path = join(await temporaryFolder(t), 'providers.json');
    const write = (...names: string[]) => {
      const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command };
      return writeFile(path, JSON.stringify({ providers: names.map((name) => ({ name, execConfig })) }));
    };
    await write('fake');
    const told = new EventTarget();
    let misdeed = misdeeds['throw an error'];
    const warnings: string[] = [];
    const providers = CredentialProviders.fromFile(path, {
      watchProviderFile: true,
      logger: { warn: (_fields, message) => warnings.push(message) },
    });
    providers.onChange(() => {
      told.dispatchEvent(new Event('change'));
      return misdeed?.() as undefined; // an async function fits a type that returns nothing
    });
    t.after(() => providers.close());
    for (const [index, way] of ['throw an error', 'reject'].entries()) {
      misdeed = misdeeds[way];
      const change = once(told, 'change');
      await write('fake', `other-${index}`);
      await change;
      await settle();
      assert.deepEqual(warnings, new Array(index + 1).fill('a listener of onChange failed, and was ignored: misdeed'));
      assert.deepEqual(providers.accessTypes, ['fake', `other-${index}`]);
    }
    await providers.getConfig(profileFor(cluster)).ready();
  });
});

test('what failed is said on stderr, each thing once', () => {
  const expected = [
    ...['warn', 'info'].map((level) => `the logger's ${level} failed, and was ignored: misdeed`),
    ...channels.map((name) => `an observer of ${name} failed, and was ignored: misdeed`),
  ];
  for (const line of expected) assert.ok(said.includes(`clusterprofile-credentials: ${line}`), line);
  assert.equal(new Set(said).size, said.length);
});

describe('a logger', () => {
  test('keeps its own `this`', async (t) => {
    class Counting {
      warnings = 0;
      warn(): void {
        this.warnings += 1;
      }
    }
    const logger: Counting & Logger = new Counting();
    const answer = { token: 't', expirationTimestamp: '2001-01-01T00:00:00Z' };
    const { config } = await startFleet(t, { answer, options: { logger } });
    await config.ready();
    assert.equal(logger.warnings, 1);
  });

  test('whose info or debug is no function is an error at construction', () => {
    for (const more of [{ info: 'x' }, { debug: true }, { info: null }]) {
      const options = { logger: { warn: () => {}, ...more } };
      assert.throws(() => Reflect.construct(CredentialProviders, [[], options]), { code: 'OPTION_INVALID' });
    }
  });
});

describe('ready() with a signal', () => {
  test('that is aborted already rejects with its reason, and runs nothing', async (t) => {
    const { plugin, config } = await startFleet(t, { answer: { exitCode: 1 } });
    const reason = new Error('not wanted any more');
    await assert.rejects(config.ready({ signal: AbortSignal.abort(reason) }), reason);
    await settle();
    assert.equal(await plugin.runs(), 0);
  });

  for (const moment of ['before the plugin fails', 'while it starts']) {
    test(`that is aborted ${moment} rejects with its reason; the failure is nobody's unhandled rejection`, async (t) => {
      const caller = new AbortController();
      const reason = new Error('given up');
      const [started, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      listenTo(t, 'plugin-run-start', () => {
        if (moment === 'while it starts') caller.abort(reason);
        started.resolve();
      });
      listenTo(t, 'plugin-run-end', () => ended.resolve());
      const { config } = await startFleet(t, { answer: { exitCode: 1, delayMs: 100 } });
      const rejected = assert.rejects(config.ready({ signal: caller.signal }), reason);
      await started.promise;
      caller.abort(reason);
      await rejected;
      await ended.promise;
      await settle();
      await assert.rejects(config.ready(), { code: 'PLUGIN_FAILED' });
    });
  }
});
