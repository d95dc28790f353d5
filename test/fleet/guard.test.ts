import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { shownServer } from '../../src/fleet/guard.ts';
import { Fleet, reflect } from '../../src/fleet/index.ts';
import { startHub } from '../fixtures/fleet-hub.ts';
import { until } from '../fixtures/until.ts';

const password = 'hunter2secretPW';

describe('the address of an API server in a log', () => {
  for (const [address, shown] of [
    ['https://hub.example.dev:6443', 'https://hub.example.dev:6443'],
    ['https://[::1]:6443/k8s/clusters/c-1', 'https://[::1]:6443/k8s/clusters/c-1'],
    [`https://admin:${password}@hub:6443/x`, 'https://hub:6443/x'],
    [`https://${password}@hub`, 'https://hub'],
    [`https://hub/x?token=${password}#${password}`, 'https://hub/x'],
    [`admin:${password}@hub:6443`, 'hub:6443'],
    [`https://admin:a/b#${password}@hub:6443`, 'hub:6443'],
    [`//admin:${password}@hub?x`, 'hub'],
    ['', ''],
  ] as const) {
    test(`has no password: ${JSON.stringify(shown)}`, () => assert.equal(shownServer(address), shown));
  }

  test('has none in a line of a fleet, of its shards, or of a reflector', async (t) => {
    const { providers, hub } = await startHub(t);
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      {
        name: 'hub',
        server: `https://admin:${password}@127.0.0.1:1`,
        caData: hub.certificateAuthorityData,
        skipTLSVerify: false,
      },
      { name: 'hub' },
    );
    const lines: string[] = [];
    const note = (fields: object, message: string) => lines.push(JSON.stringify([fields, message]));
    const logger = { warn: note, info: note, debug: note };
    const sharding = { namespace: 'fleet', name: 'x', identity: 'me' };
    for (const options of [{}, { sharding }]) {
      const fleet = new Fleet({ hub: config, providers, logger, ...options });
      fleet.run().catch(() => undefined);
      t.after(() => fleet.close());
    }
    const stop = new AbortController();
    t.after(() => stop.abort());
    const events = reflect(config, { apiVersion: 'v1', kind: 'Pod', logger, signal: stop.signal });
    events.next().catch(() => undefined);
    const about = (text: string) => lines.some((line) => line.includes(text));
    await until(t, () => ['ClusterProfile', 'Lease', 'Pod'].every(about));
    assert.ok(about('"hub":"https://127.0.0.1:1"') && about('"server":"https://127.0.0.1:1"'));
    assert.ok(!about(password), lines.join('\n'));
  });
});
