import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { FakeCluster } from '../../../src/testing/index.ts';

export interface Address {
  readonly url: string;
  readonly certificateAuthorityData: string;
}

/** Servers that are dead, each in its way, and what ends them. */
export async function startDead() {
  const open = new Set<Socket>();
  const listen = async (answer: (socket: Socket) => void): Promise<Server> => {
    const server = createServer((socket) => {
      open.add(socket);
      socket.on('error', () => {});
      answer(socket);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  const silent = await listen(() => {});
  const slamming = await listen((socket) => socket.destroy());
  const babbling = await listen((socket) => socket.end('220 smtp.example.dev ESMTP\r\n'));
  const hanging = await FakeCluster.start({ tokens: { good: 'me' } });
  hanging.failNext('hang', 1_000_000);
  const resetting = await FakeCluster.start({ tokens: { good: 'me' } });
  resetting.failNext('reset', 1_000_000);
  const failing = await FakeCluster.start({ tokens: { good: 'me' } });
  failing.failNext(503, 1_000_000);
  const refusing = await FakeCluster.start({ tokens: {} });
  const stalling = await FakeCluster.start({ tokens: { good: 'me' } });
  // It can be engaged, and then its watches hang.
  stalling.failNext('hang', 1_000_000, ({ url }) => url !== '/version');
  const clusters = [hanging, resetting, failing, refusing, stalling];
  const { certificateAuthorityData } = hanging;
  const port = (server: Server) => `https://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
  const addresses: readonly Address[] = [
    ...['https://127.0.0.1:1', 'https://nowhere.invalid', ...[silent, slamming, babbling].map(port)].map((url) => ({
      url,
      certificateAuthorityData,
    })),
    ...clusters,
  ];
  return {
    addresses,
    close: async () => {
      for (const socket of open) socket.destroy();
      for (const server of [silent, slamming, babbling]) server.close();
      await Promise.all(clusters.map((cluster) => cluster.close()));
    },
  };
}
