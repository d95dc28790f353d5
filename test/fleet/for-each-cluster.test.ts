import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type ForEachClusterOptions, forEachCluster } from '../../src/fleet/index.ts';
import { Preview } from '../../src/index.ts';
import { startDeadServer } from '../fixtures/dead-server.ts';
import { namesOf, profileKind, startHub } from '../fixtures/fleet-hub.ts';
import { ManualClock } from '../fixtures/manual-clock.ts';
import { until } from '../fixtures/until.ts';

async function start(t: TestContext) {
  const parts = await startHub(t);
  const options = { hub: parts.hubConfig(), providers: parts.providers } satisfies ForEachClusterOptions;
  return { ...parts, options };
}

const namespaces = { apiVersion: 'v1', kind: 'Namespace' } as const;

describe('forEachCluster', () => {
  test('gives a result for each profile in order, and a bad one fails alone', async (t) => {
    const { options, publish, spoke } = await start(t);
    publish('b', await spoke());
    publish('a', await spoke({ tokens: {} }));
    publish('c', await spoke(), { access: 'unknown' });
    publish('d', await spoke());
    const results = await forEachCluster(options, async ({ name, config, signal }) => {
      const { items } = await config.resource(namespaces).list({ signal });
      if (name === 'fleet/d') throw 'mine';
      return items.length;
    });
    const [a, b, c, d] = results;
    assert.deepEqual(namesOf(results), ['fleet/a', 'fleet/b', 'fleet/c', 'fleet/d']);
    assert.equal(b?.value, 2);
    assert.match(String(a?.error), /401/);
    assert.match(String(c?.error), /NO_MATCHING_PROVIDER/);
    assert.equal(d?.error?.message, 'mine');
  });

  test('changes nothing with a preview, which collects what each cluster would get', async (t) => {
    const { options, publish, spoke } = await start(t);
    const cluster = await spoke();
    publish('a', cluster);
    publish('b', await spoke());
    const preview = new Preview();
    const made = { metadata: { name: 'made' } };
    const create = () =>
      forEachCluster({ ...options, preview }, ({ config }) => config.resource(namespaces).create(made));
    const names = (await create()).map(({ value }) => value?.metadata.name);
    assert.deepEqual(names, ['made', 'made']);
    assert.equal(cluster.get({ ...namespaces, ...made }), undefined);
    const summary = preview.summary().map(({ cluster: name, verb, object }) => `${name} ${verb} ${object}`);
    assert.deepEqual(summary, ['fleet/a create made', 'fleet/b create made']);
  });

  test('works on a bounded number of clusters at once, and closes the config of each', async (t) => {
    const { options, publish, spoke } = await start(t);
    const cluster = await spoke();
    for (let i = 0; i < 6; i++) publish(`one-${i}`, cluster);
    let running = 0;
    let most = 0;
    const configs: { fetch(path: string): Promise<Response> }[] = [];
    await forEachCluster({ ...options, concurrency: 2 }, async ({ config, signal }) => {
      running += 1;
      most = Math.max(most, running);
      configs.push(config);
      await config.resource(namespaces).list({ signal });
      running -= 1;
    });
    assert.equal(most, 2);
    assert.equal(configs.length, 6);
    for (const config of configs) await assert.rejects(config.fetch('/version'), { code: 'CONFIG_CLOSED' });
  });

  test('gives each cluster its own time, also one whose function ignores its signal', async (t) => {
    const { options, hub, publish, spoke } = await start(t);
    const { profile } = await startDeadServer(t, 'HTTP/1.1');
    hub.set({ ...profileKind, ...profile, metadata: { namespace: 'fleet', name: 'dead' } });
    publish('deaf', await spoke());
    publish('good', await spoke());
    const clock = new ManualClock();
    let ended = 0;
    const all = forEachCluster({ ...options, timeoutMs: 5_000, clock }, async ({ name, config, signal }) => {
      if (name === 'fleet/deaf') await new Promise(() => undefined);
      await config
        .resource(namespaces)
        .list({ signal })
        .finally(() => (ended += 1));
      return name;
    });
    await until(t, () => ended === 1);
    clock.advance(5_000);
    const [late, deaf, good] = await all;
    assert.match(String(late?.error), /TIMEOUT.*fleet\/dead: not done after 5000 ms \(timeoutMs of forEachCluster\)/);
    assert.match(String(deaf?.error), /TIMEOUT/);
    assert.equal(good?.value, 'fleet/good');
    await until(t, () => ended === 2);
  });

  test('ends with its signal: what has begun is aborted, and nothing else begins', async (t) => {
    const { options, publish, spoke } = await start(t);
    const cluster = await spoke();
    for (let i = 0; i < 3; i++) publish(`one-${i}`, cluster);
    const stop = new AbortController();
    const begun: string[] = [];
    const results = await forEachCluster({ ...options, concurrency: 1, signal: stop.signal }, ({ name, signal }) => {
      begun.push(name);
      stop.abort(new Error('enough'));
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    assert.deepEqual(begun, ['fleet/one-0']);
    const messages = results.map(({ error }) => error?.message);
    assert.deepEqual(messages, ['enough', 'enough', 'enough']);
  });

  test('rejects if the hub does not list its profiles, and for options that it does not have', async (t) => {
    const { options, hub } = await start(t);
    hub.failNext(403, 1, ({ url }) => url.includes('/clusterprofiles'));
    const one = () => 1;
    await assert.rejects(forEachCluster(options, one), { statusCode: 403 });
    const wrong = { code: 'OPTION_INVALID', message: /concurrency: must be a whole number of 1 or more/ };
    await assert.rejects(forEachCluster({ ...options, concurrency: 0 }, one), wrong);
  });
});
