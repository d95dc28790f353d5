import assert from 'node:assert/strict';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { clusterOf } from '../../src/fleet/membership/identity.ts';
import { CredentialProviders } from '../../src/index.ts';
import { startOne } from '../fixtures/controllers.ts';
import { isEngaged, stateOf } from '../fixtures/fleet-hub.ts';
import { until } from '../fixtures/until.ts';

test('a changed provider file engages anew what uses the provider, at once, and tries what failed', async (t) => {
  const { publish, cluster, plugin, fleet: make, logger } = await startOne(t);
  const file = join(plugin.directory, 'providers.json');
  const write = async (timeoutHint: string, names: readonly string[]) => {
    const { command } = plugin;
    const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command, installHint: timeoutHint };
    await writeFile(`${file}.new`, JSON.stringify({ providers: names.map((name) => ({ name, execConfig })) }));
    await rename(`${file}.new`, file);
  };
  await write('first', ['fake']);
  const providers = CredentialProviders.fromFile(file, { watchProviderFile: true, logger });
  t.after(() => providers.close());
  const fleet = make({ providers, identify: clusterOf });
  fleet.run();
  await fleet.synced();
  const engaged = fleet.get('fleet/one');
  await write('second', ['fake']);
  await until(t, () => engaged.signal.aborted);
  assert.equal(engaged.signal.reason.reason, 'PROVIDER_CHANGED');
  await until(t, () => isEngaged(fleet, 'one'));
  await write('third', ['other']);
  await until(t, () => stateOf(fleet, 'one') === 'Backoff RESOLVE/NO_MATCHING_PROVIDER');
  await write('fourth', ['fake']);
  await until(t, () => isEngaged(fleet, 'one'));
  publish('older', cluster, { access: 'other', creationTimestamp: '2020-01-01T00:00:00Z' });
  await until(t, () => stateOf(fleet, 'older') === 'Duplicate SAME_SERVER');
  await write('fourth', ['fake', 'other']);
  await until(t, () => isEngaged(fleet, 'older') && stateOf(fleet, 'one') === 'Duplicate SAME_SERVER');
});
