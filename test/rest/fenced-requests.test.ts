import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { CoreV1Api } from '@kubernetes/client-node';
import { request } from 'undici';
import { RestConfig } from '../../src/index.ts';
import { startFleet } from '../fixtures/fleet.ts';
import { restConfigFor } from '../fixtures/fleet-hub.ts';

let created = 0;
const configMap = () => ({ metadata: { name: `x-${created++}` } });
const ways: Readonly<Record<string, (config: RestConfig) => Promise<unknown>>> = {
  "undici's request": async ({ dispatcher, access }) =>
    (await request(`${access.cluster.server}/version`, { dispatcher })).body.dump(),
  'config.fetch': async (config) => (await config.fetch('/version')).text(),
  'config.fetch with a body': async (config) => {
    const init = { method: 'POST', body: JSON.stringify(configMap()) };
    await (await config.fetch('/api/v1/namespaces/default/configmaps', init)).text();
  },
  'a generated client': (config) =>
    config.makeApiClient(CoreV1Api).createNamespacedConfigMap({ namespace: 'default', body: configMap() }),
};

describe('a request that its fence has let pass is at the server before this process does anything else', () => {
  // A cluster that goes on while this thread is blocked.
  const arrived = new Int32Array(new SharedArrayBuffer(4));
  let thread: Worker;
  let hub: Parameters<typeof restConfigFor>[0];
  before(async () => {
    thread = new Worker(new URL('./cluster-thread.ts', import.meta.url), { workerData: arrived.buffer });
    [hub] = await once(thread, 'message');
  });
  after(() => thread.terminate());

  for (const [way, send] of Object.entries(ways)) {
    for (const connection of ['the first', 'one that stands'])
      test(`${way}, on ${connection} connection`, async (t) => {
        const config = restConfigFor(hub, 'token');
        t.after(() => config.close());
        let asked = 0;
        let outcome = '';
        RestConfig.setFence(config, () => {
          asked += 1;
          const before = Atomics.load(arrived, 0);
          // When it is dispatched, and when it is written: from then on this thread does nothing but wait for its arrival.
          if (asked === 2) queueMicrotask(() => (outcome = Atomics.wait(arrived, 0, before, 20_000)));
          return undefined;
        });
        if (connection !== 'the first') {
          asked = -2;
          await send(config);
          assert.equal(asked, 0);
        }
        await send(config);
        assert.equal(asked, 2);
        assert.match(outcome, /^(?:ok|not-equal)$/);
      });
  }
});

test('fenced watches share a connection over HTTP/2 all the same', async (t) => {
  const { cluster, config } = await startFleet(t);
  RestConfig.setFence(config, () => undefined);
  await config.fetch('/version');
  const watch = () => request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: config.dispatcher });
  const watches = await Promise.all(Array.from({ length: 20 }, watch));
  assert.equal(cluster.stats.connections, 2);
  for (const { body } of watches) body.on('error', () => undefined).destroy();
});
