import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PluginError } from '../../../src/errors/index.ts';
import { ApiError } from '../../../src/fleet/index.ts';
import { Attempts } from '../../../src/fleet/membership/attempts.ts';
import { failureOf } from '../../../src/fleet/membership/status.ts';
import { WarningLimiter } from '../../../src/observability/warning-limiter.ts';
import { gate, note, startOne } from '../../fixtures/controllers.ts';
import { isEngaged, stateOf } from '../../fixtures/fleet-hub.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { until } from '../../fixtures/until.ts';

describe('a cluster in Backoff', () => {
  test('is tried at least every minute while its plugin cannot be started, and otherwise every five', () => {
    for (const [code, longestMs] of [
      ['PLUGIN_NOT_FOUND', 60_000],
      ['PLUGIN_FILE_UNSAFE', 60_000],
      ['PLUGIN_TIMEOUT', 300_000],
    ] as const) {
      const logger = { warn: () => undefined };
      const warnings = new WarningLimiter({ logger, clock: Date.now });
      const attempts = new Attempts('one', { clock: new ManualClock(), logger, warnings });
      const error = new PluginError(code, 'failed', {
        provider: 'google',
        origin: 'access provider google',
        command: 'x',
      });
      for (let failures = 0; failures < 20; failures++) attempts.failed(failureOf('CREDENTIAL', error), error);
      const ms = attempts.pause?.ms ?? 0;
      assert.ok(ms > longestMs / 2 && ms <= longestMs, `${code}: ${ms}`);
    }
  });

  test('because a function of its author fails is tried at once when its profile has changed since', async (t) => {
    const { publish, spoke, run } = await startOne(t, ['a']);
    const after = await spoke();
    const clock = new ManualClock();
    const fleet = run({ clock });
    const hold = gate(t);
    const seen = note(fleet, { reconcile: () => hold.promise });
    await until(t, () => seen.length === 1);
    let fails = true;
    fleet.onEngage(() => {
      if (!fails) return;
      fails = false;
      throw new ApiError('API_STATUS', 'the inventory is overloaded', { statusCode: 503, retryAfterMs: 120_000 });
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
