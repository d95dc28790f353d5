import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { request } from 'undici';
import { newNamespace, profileFor, startCluster, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { until } from '../fixtures/until.ts';

const hour = 3_600_000;

describe('what nobody uses is closed after idleTimeoutMs, and its credential is forgotten, though the clock', () => {
  for (const [what, steps] of Object.entries({
    'goes right': [0, 0],
    'is set back before it is let go': [-hour, 0],
    'is set back afterwards': [0, -hour],
    'is set back twice': [-hour, -hour],
    'is set forward, and back to what it was': [hour, -hour],
    'is set back, and forward to what it was': [-hour, hour],
    'is set forward': [0, hour],
  })) {
    test(what, async (t) => {
      const cluster = await startCluster(t);
      const plugin = await startPlugin(t);
      let offset = 0;
      const clock = () => Date.now() + offset;
      const providers = startProviders(t, plugin, { clock, idleTimeoutMs: 100 });
      const use = async (meanwhile: () => void) => {
        const config = providers.getConfig(profileFor(cluster));
        const { body } = await request(`${cluster.url}/version`, { dispatcher: config.dispatcher });
        await body.dump();
        meanwhile();
        await config.close();
      };
      const [before = 0, after = 0] = steps;
      await use(() => {
        offset += before;
      });
      offset += after;
      // By the timer alone.
      await until(t, () => cluster.stats.openConnections === 0);
      await use(() => undefined);
      assert.equal(await plugin.runs(), 2);
    });
  }

  test('is set forward by an hour: what is in use goes on', async (t) => {
    const cluster = await startCluster(t);
    let offset = 0;
    const clock = () => Date.now() + offset;
    const providers = startProviders(t, await startPlugin(t), { clock, idleTimeoutMs: 100 });
    const config = providers.getConfig(profileFor(cluster));
    const watch = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: config.dispatcher });
    await config.close();
    offset = hour;
    // Others come and go, and with them a sweep.
    const other = await startCluster(t);
    const otherConfig = providers.getConfig(profileFor(other));
    await (await otherConfig.fetch('/version')).text();
    await otherConfig.close();
    await until(t, () => other.stats.openConnections === 0);
    cluster.add(newNamespace('still-there'));
    for await (const chunk of watch.body) if (String(chunk).includes('still-there')) return;
    assert.fail('the watch ended');
  });
});
