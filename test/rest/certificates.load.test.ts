import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { startCertified } from '../fixtures/certified.ts';
import { profileFor, startCluster, startProviders } from '../fixtures/fleet.ts';
import { print, shellPlugin } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';

describe('rotation', () => {
  test('under load fails no request, and leaves no connection behind', async (t) => {
    const { cluster, core, rotate } = await startCertified(t);
    let stop = false;
    let served = 0;
    const worker = async () => {
      while (!stop) {
        assert.equal((await core.listNamespace()).items.length, 2);
        served += 1;
      }
    };
    const workers = Array.from({ length: 10 }, worker);
    for (let round = 0; round < 20; round++) {
      await rotate(`round-${round}`);
      await core.listNamespace();
    }
    stop = true;
    await Promise.all(workers);
    assert.ok(served > 100 && cluster.stats.unauthorized === 0, `${served} served`);
    // Those of the last certificate, one for each worker, and one for rotate().
    await until(t, () => cluster.stats.openConnections <= workers.length + 1);
  });

  test('a hundred times leaves no connection, no timer and no heap behind', async (t) => {
    const cluster = await startCluster(t, { tokens: {} });
    // Two identities in turn: each differs from the one before it.
    const answers = ['even', 'odd'].map((commonName) => {
      const { certificate, key } = cluster.certificateAuthority.issue({ commonName, client: true });
      return print({ clientCertificateData: certificate, clientKeyData: key });
    });
    const plugin = await shellPlugin(
      t,
      `if [ -e "$DIR/flag" ]; then rm "$DIR/flag"\n${answers[0]}\nelse : > "$DIR/flag"\n${answers[1]}\nfi`,
    );
    const config = startProviders(t, plugin).getConfig(profileFor(cluster));
    const core = config.makeApiClient(CoreV1Api);
    const rotations = async (count: number) => {
      for (let i = 0; i < count; i++) {
        config.invalidate();
        await core.listNamespace();
      }
      await until(t, () => cluster.stats.openConnections <= 1);
      // What waits for a finalizer goes with the next collection.
      for (let i = 0; i < 5; i++) {
        globalThis.gc?.();
        await new Promise((resolve) => setImmediate(resolve));
      }
      return {
        heap: process.memoryUsage().heapUsed,
        timers: process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length,
      };
    };
    // The compiler and the caches below need some before the heap stands still.
    const before = await rotations(40);
    const after = await rotations(60);
    assert.equal(await plugin.runs(), 100);
    assert.deepEqual(
      [...cluster.stats.byIdentity],
      [
        ['odd', 50],
        ['even', 50],
      ],
    );
    assert.ok(after.timers <= before.timers + 2, `${before.timers} timers became ${after.timers}`);
    // The server is in this process too; a pool that is kept would be over 10 KB.
    const grown = (after.heap - before.heap) / 60;
    assert.ok(grown < 8_192, `${grown} bytes for each rotation`);
    t.diagnostic(`heap grown by ${Math.round(grown)} bytes for each rotation`);
  });
});
