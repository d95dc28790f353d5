import { createServer, type Socket } from 'node:net';
import { FakeCluster } from '../../../src/testing/index.ts';
import { listen } from '../../fixtures/listen.ts';

export interface Address {
  readonly url: string;
  readonly certificateAuthorityData: string;
}

/** Servers that are dead, each in its way, and what ends them. */
export async function startDead() {
  const ends = new AsyncDisposableStack();
  const life = { after: (end: () => unknown) => ends.defer(async () => void (await end())) };
  const serve = async (answer: (socket: Socket) => void) =>
    `https://127.0.0.1:${(await listen(life, createServer(answer))).port}`;
  const silent = await serve(() => {});
  const slamming = await serve((socket) => socket.destroy());
  const babbling = await serve((socket) => socket.end('220 smtp.example.dev ESMTP\r\n'));
  const start = async (tokens: Readonly<Record<string, string>> = { good: 'me' }) => {
    const cluster = await FakeCluster.start({ tokens });
    life.after(() => cluster.close());
    return cluster;
  };
  const hanging = await start();
  hanging.failNext('hang', 1_000_000);
  const resetting = await start();
  resetting.failNext('reset', 1_000_000);
  const failing = await start();
  failing.failNext(503, 1_000_000);
  const stalling = await start();
  // It can be engaged, and then its watches hang.
  stalling.failNext('hang', 1_000_000, ({ url }) => url !== '/version');
  const { certificateAuthorityData } = hanging;
  const addresses: readonly Address[] = [
    ...['https://127.0.0.1:1', 'https://nowhere.invalid', silent, slamming, babbling].map((url) => ({
      url,
      certificateAuthorityData,
    })),
    ...[hanging, resetting, failing, await start({}), stalling],
  ];
  return { addresses, close: () => ends.disposeAsync() };
}
