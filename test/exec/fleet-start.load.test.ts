import assert from 'node:assert/strict';
import { test } from 'node:test';
import { profileFor, startProviders } from '../fixtures/fleet.ts';
import { startHub } from '../fixtures/fleet-hub.ts';
import { print, shellPlugin } from '../fixtures/script.ts';

test('a fleet of 200 clusters starts with slow plugins and 8 places: no plugin is killed, and each runs once', async (t) => {
  const { hub, spoke, fleet: newFleet, warnings } = await startHub(t);
  const cluster = await spoke();
  // A tenth of the seconds that clouds take, and a timeout that only a run that is cut short would reach.
  const plugin = await shellPlugin(
    t,
    `n=$(echo "$KUBERNETES_EXEC_INFO" | sed 's/.*"input":\\([0-9]*\\).*/\\1/')
sleep "0.$((2 + n % 7))"
${print({ token: 'token-1' })}`,
  );
  const options = { maxConcurrentPlugins: 8, pluginTimeoutMs: 5_000 };
  const providers = startProviders(t, plugin, options, { execConfig: { provideClusterInfo: true } });
  const count = 200;
  for (let input = 0; input < count; input++) {
    const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { input } }];
    hub.set({
      ...profileFor(cluster, { extensions }),
      apiVersion: 'multicluster.x-k8s.io/v1alpha1',
      kind: 'ClusterProfile',
      metadata: { namespace: 'fleet', name: `spoke-${input}` },
      spec: { displayName: `spoke-${input}`, clusterManager: { name: 'test' } },
    });
  }
  const fleet = newFleet({ providers });
  fleet.run().catch(() => undefined);
  await fleet.synced();
  assert.deepEqual(warnings, []);
  assert.equal(fleet.list().filter(({ state }) => state === 'Engaged').length, count);
  assert.equal(await plugin.runs(), count);
});
