import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import type { ClusterProfile } from '../../src/index.ts';
import { profileFor, startCluster, startPlugin, startProviders } from '../fixtures/fleet.ts';

test('400 configs with 100 distinct plugin inputs, all at once: 100 runs, never over the limit, bounded heap and descriptors', async (t) => {
  const cluster = await startCluster(t);
  const plugin = await startPlugin(t);
  const maxConcurrentPlugins = 8;
  // All 400 handshakes at once may take a slow machine long.
  const options = { maxConcurrentPlugins, connectTimeoutMs: 600_000 };
  const providers = startProviders(t, plugin, options, { execConfig: { provideClusterInfo: true } });
  const profile = (index: number): ClusterProfile => {
    const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { input: index % 100 } }];
    return { ...profileFor(cluster, { extensions }), metadata: { name: `spoke-${index}` } };
  };
  let most = { runs: 0, descriptors: 0, heap: 0 };
  const look = () => {
    most = {
      runs: Math.max(most.runs, process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length),
      descriptors: Math.max(most.descriptors, readdirSync('/proc/self/fd').length),
      heap: Math.max(most.heap, process.memoryUsage().heapUsed),
    };
  };
  const before = { descriptors: readdirSync('/proc/self/fd').length, heap: process.memoryUsage().heapUsed };
  const timer = setInterval(look, 5);
  const configs = Array.from({ length: 400 }, (_, index) => providers.getConfig(profile(index)));
  await Promise.all(configs.map((config) => config.ready()));
  clearInterval(timer);
  assert.equal(await plugin.runs(), 100);
  assert.ok(most.runs <= maxConcurrentPlugins, `${most.runs} plugins ran at once`);
  // Two pipes and a process each; no connection is open yet.
  assert.ok(most.descriptors - before.descriptors <= 10 * maxConcurrentPlugins, `${most.descriptors} descriptors`);
  const heap = most.heap - before.heap;
  assert.ok(heap < 60 * 1024 * 1024, `${heap} bytes of heap`);
  t.diagnostic(
    `${most.runs} plugins at once, ${most.descriptors} descriptors, ${Math.round(heap / 1024 / 1024)} MiB of heap more`,
  );
  // One connection for each distinct input, however many configs share it. The second config of an input comes when it is open: one
  // that has been dialled for more than a second would be dialled again.
  const list = (config: (typeof configs)[number]) => config.makeApiClient(CoreV1Api).listNamespace();
  await Promise.all(
    configs.slice(0, 100).map(async (config, index) => {
      await list(config);
      await Promise.all(
        configs
          .slice(100, 150)
          .slice(index, index + 1)
          .map(list),
      );
    }),
  );
  assert.equal(cluster.stats.connections, 100);
  assert.equal(await plugin.runs(), 100);
});
