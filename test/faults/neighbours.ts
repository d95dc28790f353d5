import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { CoreV1Api } from '@kubernetes/client-node';
import { Agent, request } from 'undici';
import { type ClusterProfile, CredentialProviders } from '../../src/index.ts';
import { FakeCluster, writePlugin } from '../../src/testing/index.ts';
import { Pairs } from './pairs.ts';

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

/** What nobody waits for who does not wait for a dead cluster: 95 of 100 requests end within so many times their peers' time. */
const most = 3;

/**
 * How long requests to three healthy clusters take while four times as many callers wait for clusters that are dead. Each has a
 * peer, a request of undici alone to the same cluster at the same moment. Gives a line with the ratios.
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
  const bare = new Agent({ allowH2: true, connect: { rejectUnauthorized: false } });
  const healthy = clusters.map(({ url, certificateAuthorityData }) => {
    const core = providers.getConfig(profile(url, certificateAuthorityData)).makeApiClient(CoreV1Api);
    const ask = { dispatcher: bare, headers: { authorization: 'Bearer token-1' } };
    return {
      ours: () => core.listNamespace(),
      peer: async () => (await request(`${url}/api/v1/namespaces`, ask)).body.json(),
    };
  });
  const lost = dead.servers.map((server) => providers.getConfig(profile(server)).makeApiClient(CoreV1Api));
  const round = async () => {
    const pairs = new Pairs();
    const caller = async ({ ours, peer }: (typeof healthy)[number]) => {
      for (let i = 0; i < 200; i++) await pairs.sample(ours, peer);
    };
    await Promise.all(healthy.map(caller));
    return pairs;
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
    const times = (pairs: Pairs) => `${pairs.ratio(0.5).toFixed(2)} (95 %: ${pairs.ratio(0.95).toFixed(2)})`;
    const line =
      `beside 12 callers of dead clusters (${failed} failures) requests to healthy ones took ${times(beside)} ` +
      `of bare undici's time, without them ${times(alone)}`;
    assert.ok(failed > 0 && beside.ratio(0.95) < most, line);
    return line;
  } finally {
    await providers.close();
    await bare.destroy();
    await Promise.all(clusters.map((cluster) => cluster.close()));
    dead.close();
    await plugin.remove();
  }
}
