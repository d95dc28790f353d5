// Many clusters engaged with one informer each, from fake clusters in other processes, and what they take when nothing changes.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Fleet } from '../../../src/fleet/index.ts';
import { CredentialProviders } from '../../../src/index.ts';
import { FakeCluster, writePlugin } from '../../../src/testing/index.ts';
import { restConfigFor } from '../../fixtures/fleet-hub.ts';
import { heading, median, report } from '../report.ts';

const processes = 4;
const objects = 10;
const changes = 20;
const settleSeconds = 60;
const idleSeconds = 120;

interface Address {
  readonly url: string;
  readonly certificateAuthorityData: string;
}

/** `clusters`: how many. */
export async function benchClusters({ clusters }: { readonly clusters: number }): Promise<void> {
  const program = new URL('./clusters-process.ts', import.meta.url);
  const children: ChildProcess[] = [];
  const hub = await FakeCluster.start({ tokens: { hub: 'bench' } });
  const plugin = await writePlugin({ token: 'bench-token' });
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command } as const;
  const providers = new CredentialProviders([{ name: 'fake', execConfig }]);
  const stop = new AbortController();
  try {
    const addresses: Address[] = [];
    for (let i = 0; i < processes; i++) {
      const child = fork(program, [String(clusters / processes), String(objects)], { execArgv: [] });
      children.push(child);
      const [started] = await once(child, 'message');
      addresses.push(...started);
    }
    const publish = (index: number, heartbeat: string) => {
      const { url: server = '', certificateAuthorityData = '' } = addresses[index] ?? {};
      hub.set({
        apiVersion: 'multicluster.x-k8s.io/v1alpha1',
        kind: 'ClusterProfile',
        metadata: { namespace: 'fleet', name: `cluster-${index}`, labels: { heartbeat } },
        spec: { clusterManager: { name: 'bench' } },
        status: {
          accessProviders: [
            { name: 'fake', cluster: { server, 'certificate-authority-data': certificateAuthorityData } },
          ],
        },
      });
    };
    for (let i = 0; i < clusters; i++) publish(i, '0');
    heading(`${clusters} clusters engaged with one informer of ${objects} objects each`);
    globalThis.gc?.();
    const { heapUsed, rss } = process.memoryUsage();
    const fleet = new Fleet({ hub: restConfigFor(hub, 'hub'), providers, engageTimeoutMs: 600_000 });
    let changed = '';
    let told = () => {};
    fleet.controller({
      name: 'bench',
      for: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' },
      reconcile: (_request, { cluster }) => {
        if (cluster.name === changed) told();
      },
    });
    const used = process.cpuUsage();
    const began = performance.now();
    const running = fleet.run({ signal: stop.signal });
    await fleet.synced();
    const seconds = (performance.now() - began) / 1_000;
    const { user, system } = process.cpuUsage(used);
    const engaged = fleet.list().filter(({ state }) => state === 'Engaged').length;
    globalThis.gc?.();
    const after = process.memoryUsage();
    report('clusters engaged', engaged, '');
    report('time until all have synced', seconds, 's');
    report('CPU for each cluster', (user + system) / 1_000 / clusters, 'ms');
    report('heap for each cluster', (after.heapUsed - heapUsed) / 1_024 / clusters, 'KB');
    report('memory for each cluster', (after.rss - rss) / 1_024 / clusters, 'KB');
    let connections = 0;
    for (const child of children) {
      child.send({ stats: true });
      const [answer] = await once(child, 'message');
      connections += answer.connections;
    }
    report('sockets for each cluster', connections / clusters, '');
    // V8 collects what the lists left once the process is idle. Each watch has its bookmark every minute.
    await new Promise((resolve) => setTimeout(resolve, settleSeconds * 1_000));
    const idle = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, idleSeconds * 1_000));
    const { user: idleUser, system: idleSystem } = process.cpuUsage(idle);
    report('CPU of an idle minute', ((idleUser + idleSystem) / 1e6 / idleSeconds) * 60, 's');
    globalThis.gc?.();
    report('memory for each cluster, idle', (process.memoryUsage.rss() - rss) / 1_024 / clusters, 'KB');
    const latencies: number[] = [];
    for (let i = 0; i < changes; i++) {
      const index = (i * 37) % clusters;
      const address = addresses[index];
      if (!address) continue;
      changed = `fleet/cluster-${index}`;
      const reconciled = new Promise<void>((resolve) => {
        told = resolve;
      });
      const sent = performance.now();
      // Another address for the same cluster: it is disengaged, and engaged again.
      addresses[index] = { ...address, url: address.url.replace('127.0.0.1', 'localhost') };
      publish(index, String(i));
      await reconciled;
      latencies.push(performance.now() - sent);
    }
    report("from a profile's change to its first reconcile", median(latencies), 'ms');
    stop.abort();
    await running;
  } finally {
    stop.abort();
    await providers.close();
    await hub.close();
    await plugin.remove();
    for (const child of children) child.disconnect();
  }
}
