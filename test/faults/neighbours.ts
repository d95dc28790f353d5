import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { CoreV1Api } from '@kubernetes/client-node';
import { type ClusterProfile, CredentialProviders } from '../../src/index.ts';
import { FakeCluster, writePlugin } from '../../src/testing/index.ts';

/** A server that takes connections and says nothing, and one that refuses them. */
async function startDead() {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined).resume());
  }).listen(0, '127.0.0.1');
  const gone = createServer().listen(0, '127.0.0.1');
  await Promise.all([once(silent, 'listening'), once(gone, 'listening')]);
  const ports = [silent, gone].map((server) => (server.address() as AddressInfo).port); // they listen
  await new Promise((resolve) => gone.close(resolve));
  const close = () => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  };
  return { servers: ports.map((port) => `https://127.0.0.1:${port}`), close };
}

/**
 * How long requests to three healthy clusters take while four times as many callers wait for clusters that are dead, beside the
 * same without them. Gives a line with the ratios.
 */
export async function measureNeighbours(): Promise<string> {
  const plugin = await writePlugin({ token: 'token-1' });
  const clusters = await Promise.all([1, 2, 3].map(() => FakeCluster.start({ tokens: { 'token-1': 'me' } })));
  const dead = await startDead();
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command } as const;
  const providers = new CredentialProviders([{ name: 'fake', execConfig }], {
    connectTimeoutMs: 500,
    logger: { warn: () => undefined },
  });
  const profile = (server: string, certificateAuthorityData?: string): ClusterProfile => ({
    metadata: { name: new URL(server).port, namespace: 'fleet' },
    status: {
      accessProviders: [
        {
          name: 'fake',
          cluster: {
            server,
            ...(certificateAuthorityData ? { 'certificate-authority-data': certificateAuthorityData } : {}),
          },
        },
      ],
    },
  });
  const healthy = clusters.map(({ url, certificateAuthorityData }) =>
    providers.getConfig(profile(url, certificateAuthorityData)).makeApiClient(CoreV1Api),
  );
  const lost = dead.servers.map((server) => providers.getConfig(profile(server)).makeApiClient(CoreV1Api));
  const round = async () => {
    const times: number[] = [];
    const caller = async (core: CoreV1Api) => {
      for (let i = 0; i < 200; i++) {
        const began = performance.now();
        await core.listNamespace();
        times.push(performance.now() - began);
      }
    };
    await Promise.all(healthy.map(caller));
    const sorted = times.toSorted((a, b) => a - b);
    return { median: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN, slowest: sorted.at(-1) ?? Number.NaN };
  };
  try {
    await round();
    const alone = await round();
    let over = false;
    let failed = 0;
    const waiting = Array.from({ length: 12 }, async (_, index) => {
      while (!over) {
        await assert.rejects(lost[index % lost.length]?.listNamespace() ?? Promise.reject(), {
          name: 'ConnectionError',
        });
        failed += 1;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });
    const beside = await round();
    over = true;
    await Promise.all(waiting);
    const ratios = { median: beside.median / alone.median, slowest: beside.slowest / alone.slowest };
    // Nothing may wait for a dead one's time limit. The rest is what the work for the others costs.
    assert.ok(beside.slowest < 500 || ratios.slowest < 5, `a request to a healthy cluster took ${beside.slowest} ms`);
    return (
      `beside 12 callers of dead clusters (${failed} failures) requests to healthy ones took ` +
      `${ratios.median.toFixed(2)} of the median, ${ratios.slowest.toFixed(2)} of the slowest without them`
    );
  } finally {
    await providers.close();
    await Promise.all(clusters.map((cluster) => cluster.close()));
    dead.close();
    await plugin.remove();
  }
}
