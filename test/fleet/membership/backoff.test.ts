import assert from 'node:assert/strict';
import { rename, rm, writeFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { FleetError } from '../../../src/fleet/index.ts';
import { gate, map, note } from '../../fixtures/controllers.ts';
import { isEngaged, startHub, stateOf } from '../../fixtures/fleet-hub.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { until } from '../../fixtures/until.ts';

// One waits for a plugin's time limit: side by side.
describe('a cluster in Backoff', { concurrency: true }, () => {
  for (const [how, state] of [
    ['is missing', 'CREDENTIAL/PLUGIN_NOT_FOUND'],
    ['hangs', 'CREDENTIAL/PLUGIN_TIMEOUT'],
    ['gives what the cluster refuses', 'REQUEST/STATUS_401'],
  ] as const) {
    test(`is tried at once when its plugin, which ${how}, is replaced`, async (t) => {
      const { publish, spoke, plugin, run } = await startHub(t, { timeoutMs: 5_000 });
      const clock = new ManualClock();
      const script = (line: string) => `#!/bin/sh\n${line}\n`;
      const answer = (token: string) =>
        `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"${token}"}}'`;
      const put = async (line: string) => {
        await writeFile(`${plugin.command}.new`, script(line), { mode: 0o755 });
        await rename(`${plugin.command}.new`, plugin.command);
      };
      if (how === 'is missing') await rm(plugin.command);
      else await put(how === 'hangs' ? 'exec sleep 60' : answer('token-of-yesterday'));
      publish('one', await spoke());
      const fleet = run({ clock });
      await until(t, () => stateOf(fleet, 'one') === `Backoff ${state}`);
      await put(answer('token-1'));
      await until(t, () => isEngaged(fleet, 'one'));
    });
  }

  test('because a function of its author fails is tried at once when its profile has changed since', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const [before, after] = [await spoke(), await spoke()];
    before.add(map('a'));
    publish('one', before);
    const clock = new ManualClock();
    const fleet = run({ clock });
    const hold = gate();
    const seen = note(fleet, { reconcile: () => hold.promise });
    await until(t, () => seen.length === 1);
    let fails = true;
    fleet.onEngage(() => {
      if (!fails) return;
      fails = false;
      throw new FleetError('API_STATUS', 'the inventory is overloaded', { statusCode: 503, retryAfterMs: 120_000 });
    });
    await until(t, () => stateOf(fleet, 'one') === 'Backoff HANDLERS/STATUS_503');
    // Its reconcile is waited for.
    publish('one', after);
    // The hub tells of them in their order.
    publish('two', after, { healthy: 'False' });
    await until(t, () => fleet.list().length === 2);
    hold.open();
    await until(t, () => isEngaged(fleet, 'one'));
    assert.ok(after.stats.requests > 0);
  });
});
