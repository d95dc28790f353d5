// `providers.close()` at every moment: what waits is told at once, no plugin starts any more, and no connection stays.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { request } from 'undici';
import { startFleet, startProviders } from '../fixtures/fleet.ts';
import { profileAt } from '../fixtures/raw-h2.ts';
import { statusOf } from '../fixtures/requests.ts';
import { ended, print, shellPlugin, waitForGo } from '../fixtures/script.ts';
import { turns, until } from '../fixtures/until.ts';

/** A plugin that leaves its process id, and waits for what never comes. */
const waitingPlugin = (t: TestContext) =>
  shellPlugin(t, `echo $$ > "$DIR/pid.new"; mv "$DIR/pid.new" "$DIR/pid"; ${waitForGo}`);
const pidOf = (folder: string) => readFile(join(folder, 'pid'), 'utf8').catch(() => '');

const stopped = { code: 'PLUGIN_STOPPED', message: /was stopped by close\(\)$/ };

describe('close() of the providers', () => {
  test('while the files of a plugin are looked at, at any point: it is not started, or it is killed', async (t) => {
    let started = 0;
    for (let ticks = 0; ticks < 12; ticks++) {
      const plugin = await waitingPlugin(t);
      const providers = startProviders(t, plugin, {
        pluginPolicy: { policyType: 'Allowlist', allowlist: [{ command: plugin.command }] },
      });
      const ready = assert.rejects(providers.getConfig(profileAt(1)).ready(), stopped);
      await turns(ticks);
      await providers.close();
      await ready;
      // What was forked before it was closed may have come to its first line.
      const pid = await pidOf(plugin.folder);
      if (pid !== '') {
        started += 1;
        await ended(t, Number(pid));
      } else if (ticks < 2) {
        await turns(20);
        assert.equal(await plugin.runs(), 0, `after ${ticks} ticks`);
      }
    }
    assert.ok(started < 12);
  });

  test('while a run waits for a plugin of another instance: it rejects at once, and never starts', async (t) => {
    const holding = await waitingPlugin(t);
    const holder = startProviders(t, holding, { maxConcurrentPlugins: 1 });
    const held = assert.rejects(holder.getConfig(profileAt(1)).ready(), stopped);
    await until(t, async () => (await pidOf(holding.folder)) !== '');
    const waiting = await shellPlugin(t, print({ token: 'token-1' }));
    const providers = startProviders(t, waiting, { maxConcurrentPlugins: 1 });
    const config = providers.getConfig(profileAt(1));
    const rejected = Promise.all([
      assert.rejects(config.ready(), stopped),
      assert.rejects(config.ready(), stopped),
      assert.rejects(request('https://127.0.0.1:1', { dispatcher: config.dispatcher }), { code: 'CONFIG_CLOSED' }),
    ]);
    await turns(1);
    await providers.close();
    await rejected;
    assert.notEqual(await pidOf(holding.folder), '', 'the other one still runs');
    await holder.close();
    await held;
    assert.equal(await waiting.runs(), 0);
  });

  test('while a plugin runs and others wait for its place: all reject, none starts, and the process is gone', async (t) => {
    const plugin = await waitingPlugin(t);
    const execConfig = { provideClusterInfo: true };
    const providers = startProviders(t, plugin, { maxConcurrentPlugins: 1 }, { execConfig });
    const runs = [1, 2, 3].map((port) => assert.rejects(providers.getConfig(profileAt(port)).ready(), stopped));
    await until(t, async () => (await pidOf(plugin.folder)) !== '');
    await providers.close();
    await Promise.all(runs);
    await ended(t, Number(await pidOf(plugin.folder)));
    assert.equal(await plugin.runs(), 1);
  });

  test('while a request is refreshed after a 401: it rejects or has its 401, and no plugin is left', async (t) => {
    const { cluster, plugin, providers, config } = await startFleet(t);
    await config.ready();
    cluster.setTokens({});
    await plugin.answer({ token: 'token-2', delayMs: 600_000 });
    const refused = statusOf(`${cluster.url}/version`, { dispatcher: config.dispatcher }).catch(() => 401);
    await until(t, async () => (await plugin.runs()) === 2);
    await providers.close();
    assert.equal(await refused, 401);
    assert.equal(await plugin.runs(), 2);
    await until(t, () => cluster.stats.openConnections === 0);
  });

  test('while a refresh ahead of expiry runs: it is killed', async (t) => {
    const start = Date.now();
    let now = start;
    const plugin = await shellPlugin(
      t,
      `if [ -e "$DIR/pid" ]; then echo $$ > "$DIR/second.new"; mv "$DIR/second.new" "$DIR/second"; exec sleep 1000; fi
echo $$ > "$DIR/pid"\n${print({ token: 't', expirationTimestamp: new Date(start + 600_000).toISOString() })}`,
    );
    const providers = startProviders(t, plugin, { clock: () => now });
    const config = providers.getConfig(profileAt(1));
    await config.ready();
    now = start + 595_000;
    await config.ready();
    let pid = '';
    await until(t, async () => {
      pid = await readFile(join(plugin.folder, 'second'), 'utf8').catch(() => '');
      return pid !== '';
    });
    await providers.close();
    await ended(t, Number(pid));
  });

  test('is an end: no connection is left, everything afterwards rejects with CONFIG_CLOSED, and runs nothing', async (t) => {
    const { cluster, plugin, providers, profile, config } = await startFleet(t);
    await config.makeApiClient(CoreV1Api).listNamespace();
    await providers.close();
    await until(t, () => cluster.stats.openConnections <= 0);
    const message = /^ClusterProfile fleet\/spoke\b.*: the CredentialProviders have been closed: make new ones/;
    const closed = { code: 'CONFIG_CLOSED', message };
    assert.throws(() => providers.getConfig(profile), closed);
    await assert.rejects(config.ready(), closed);
    await assert.rejects(config.applyToHTTPSOptions({}), closed);
    await assert.rejects(request(cluster.url, { dispatcher: config.dispatcher }), closed);
    await assert.rejects(config.makeApiClient(CoreV1Api).listNamespace(), closed);
    await providers.close();
    assert.equal(await plugin.runs(), 1);
  });
});
