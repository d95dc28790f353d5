import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { Fleet, LeaderElection, reflect } from '../../src/fleet/index.ts';
import { startOne } from '../fixtures/controllers.ts';
import { isEngaged, kubeconfigFor, startHub } from '../fixtures/fleet-hub.ts';
import { impatientConfig } from '../fixtures/impatient.ts';
import { listen } from '../fixtures/listen.ts';
import { until } from '../fixtures/until.ts';

test('a KubeConfig of client-node is refused as a hub, and the error says what to use', async (t) => {
  const { hub, providers } = await startHub(t);
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromString(kubeconfigFor(hub, 'hub'));
  const config = kubeConfig as never; // as from JavaScript
  const message = /must be a RestConfig: RestConfig\.fromDefault\(\), or RestConfig\.fromKubeConfig\(\{ path \}\)/;
  const expected = { code: 'OPTION_INVALID', message };
  assert.throws(() => new Fleet({ hub: config, providers }), expected);
  assert.throws(() => new LeaderElection({ hub: config, namespace: 'default', name: 'x' }), expected);
  assert.throws(() => reflect(config, { apiVersion: 'v1', kind: 'Pod' }), message);
});

/** A way to a server that can fall silent: connections that stand stay open, and carry nothing any more. New ones work. */
async function startWay(t: TestContext, url: string) {
  const outgoing = new Set<Socket>();
  const server = createServer((incoming) => {
    const other = connect(Number(new URL(url).port), '127.0.0.1');
    outgoing.add(other.on('error', () => incoming.destroy()));
    incoming.on('close', () => other.destroy());
    incoming.pipe(other).pipe(incoming);
  });
  const { port, open } = await listen(t, server);
  const fallSilent = () => {
    for (const socket of [...open, ...outgoing]) socket.unpipe().pause();
  };
  return { url: `https://127.0.0.1:${port}`, fallSilent };
}

test('a fleet sees its hub again when the connection has died silently', async (t) => {
  const { hub, run, publish, cluster } = await startOne(t);
  const way = await startWay(t, hub.url);
  const { certificateAuthorityData } = hub;
  const liveness = { pingIntervalMs: 500 };
  const fleet = run({ hub: impatientConfig(t, { url: way.url, certificateAuthorityData }, liveness) });
  await until(t, () => isEngaged(fleet, 'one'));
  way.fallSilent();
  publish('two', cluster);
  await until(t, () => isEngaged(fleet, 'two'));
});
