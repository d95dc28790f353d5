import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { request } from 'undici';
import type { FakeCluster } from '../../src/testing/index.ts';
import { startHub } from '../fixtures/fleet-hub.ts';
import { ManualClock } from '../fixtures/manual-clock.ts';
import { until } from '../fixtures/until.ts';

describe('the fence: after a cluster was disengaged', () => {
  type Hub = Awaited<ReturnType<typeof startHub>>;
  const ways = {
    'because its profile was deleted': ({ withdraw }: Hub) => withdraw('one'),
    'because it is unhealthy': ({ publish }: Hub, spoke: FakeCluster) => publish('one', spoke, { healthy: 'False' }),
    'because its profile changed': ({ publish }: Hub) => publish('one', 'https://127.0.0.1:1'),
    'because the fleet was closed': 'close',
  } as const;
  for (const [way, end] of Object.entries(ways)) {
    for (const silent of [false, true]) {
      test(`${way}${silent ? ', and it answers nothing' : ''}, no request leaves, and those under way are ended`, async (t) => {
        const parts = await startHub(t, { idleTimeoutMs: 0 });
        const cluster = await parts.spoke();
        parts.publish('one', cluster);
        const clock = new ManualClock();
        const fleet = parts.run({ clock, unhealthyGraceMs: 0 });
        await fleet.synced();
        const { config, signal } = fleet.get('fleet/one');
        const watch = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: config.dispatcher });
        const informer = fleet.get('fleet/one').informer({ apiVersion: 'v1', kind: 'Namespace' });
        await informer.synced();
        if (silent) cluster.failNext('hang', 1_000);
        const asked = cluster.stats.requests;
        const hanging = silent ? config.makeApiClient(CoreV1Api).listNamespace() : undefined;
        hanging?.catch(() => undefined);
        if (silent) await until(t, () => cluster.stats.requests > asked);
        if (end === 'close') fleet.close();
        else end(parts, cluster);
        await until(t, () => signal.aborted);
        await assert.rejects(watch.body.text());
        if (hanging) await assert.rejects(hanging);
        const seen = cluster.stats.requests;
        await assert.rejects(config.makeApiClient(CoreV1Api).listNamespace());
        await assert.rejects(request(`${cluster.url}/version`, { dispatcher: config.dispatcher }), {
          code: 'CONFIG_CLOSED',
        });
        assert.throws(() => fleet.get('fleet/one'));
        assert.equal(cluster.stats.requests, seen);
        await until(t, () => cluster.stats.openConnections === 0);
        await fleet.close();
        await until(t, () => clock.waits.length === 0);
      });
    }
  }
});
