import assert from 'node:assert/strict';
import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import { request } from 'undici';
import { CredentialProviders } from '../../../src/index.ts';
import { writePlugin } from '../../../src/testing/index.ts';
import { startPlugin, startProviders } from '../../fixtures/fleet.ts';
import { listen } from '../../fixtures/listen.ts';
import { profileAt, tlsOptions } from '../../fixtures/raw-h2.ts';

const rounds = 6;
const requestsPerRound = 30;
const patienceMs = 15_000;

const ways: readonly { readonly how: string; readonly end: (socket: Socket) => void }[] = [
  { how: 'resets', end: (socket) => socket.resetAndDestroy() },
  { how: 'closes', end: (socket) => socket.destroy() },
];

for (const { how, end } of ways) {
  // The pings would find such a connection after 45 s.
  test(`every request is settled at once when the server ${how} an HTTP/2 connection on which much is being written`, async (t) => {
    const sockets = new Set<Socket>();
    let requests = 0;
    const server = createSecureServer(tlsOptions, (incoming, response) => {
      requests += 1;
      incoming.on('error', () => undefined).resume();
      response.on('error', () => undefined);
      response.end(Buffer.alloc(requests % 2 === 0 ? 200_000 : 2));
      if (requests % 7 === 0) for (const socket of sockets) end(socket);
    });
    server.on('session', (session) => session.on('error', () => undefined));
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const { port } = server.address() as AddressInfo; // it listens on a port
    const plugin = await writePlugin({ token: 'token' });
    t.after(() => plugin.remove());
    const execConfig = { apiVersion: 'client.authentication.k8s.io/v1' as const, command: plugin.command };
    const providers = new CredentialProviders([{ name: 'fake', execConfig }], { logger: { warn: () => undefined } });
    t.after(() => providers.close());
    const { dispatcher } = providers.getConfig(profileAt(port));

    let open = 0;
    const send = async (index: number): Promise<void> => {
      open += 1;
      try {
        const body = index % 2 === 0 ? Buffer.alloc(index * 20_000) : null;
        // Short ones would go out on HTTP/1.1 once there are many.
        const path = '/api/v1/pods?watch=true';
        const answer = await request(`https://127.0.0.1:${port}${path}`, {
          dispatcher,
          body,
          // A GET would be sent again.
          method: 'POST',
        });
        await answer.body.dump();
      } catch {
        // Lost with its connection.
      } finally {
        open -= 1;
      }
    };
    for (let round = 0; round < rounds; round += 1) {
      const all: Promise<void>[] = [];
      for (let index = 0; index < requestsPerRound; index += 1) {
        all.push(send(index));
        if (index % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, patienceMs);
      });
      await Promise.race([Promise.all(all), late]);
      clearTimeout(timer);
      assert.equal(open, 0, `requests under way after ${patienceMs / 1000} s, in round ${round}`);
    }
  });
}

test('an answer of a known length whose HTTP/2 connection is lost in the middle of it is CONNECTION_LOST, as on HTTP/1.1', async (t) => {
  const server = createSecureServer(tlsOptions);
  const streams: ServerHttp2Stream[] = [];
  server.on('session', (session) => session.on('error', () => undefined));
  server.on('stream', (stream) => {
    streams.push(stream.on('error', () => undefined));
    stream.respond({ ':status': 200, 'content-length': '100' });
    stream.write('{"kind":');
  });
  const { port } = await listen(t, server);
  const { dispatcher } = startProviders(t, await startPlugin(t)).getConfig(profileAt(port));
  const { body } = await request(`https://127.0.0.1:${port}/x`, { dispatcher });
  // Once something of it has come.
  const read = async () => {
    for await (const _ of body) streams[0]?.session?.destroy();
  };
  await assert.rejects(read(), { code: 'CONNECTION_LOST', retryable: true });
});
