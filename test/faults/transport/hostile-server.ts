// A TLS server that speaks HTTP/1.1 and HTTP/2 and misbehaves at random: while it is connected to, between frames, in a request.
import { createServer as createHttpServer } from 'node:http';
import { performServerHandshake } from 'node:http2';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { overlay } from '../../fixtures/overlay.ts';
import type { Random } from '../../fixtures/random.ts';
import { tlsOptions } from '../../fixtures/raw-h2.ts';
import { answerH1 } from './answers-h1.ts';
import { answerH2, HostileSession } from './answers-h2.ts';
import { Arrivals } from './arrivals.ts';
import { reset } from './reset.ts';

type Protocol = 'h2' | 'http/1.1';

/** `draw` gives the choices for one thing, by its name: the same whatever comes between. */
export async function startHostile(protocols: readonly Protocol[], draw: (name: string) => Random) {
  const arrivals = new Arrivals();
  const open = new Set<Socket>();
  let connections = 0;
  let over = false;
  const later = (ms: number, act: () => void) => setTimeout(() => over || act(), ms).unref();

  const http = createHttpServer({ requireHostHeader: false, keepAliveTimeout: 400 });
  http.on('request', (request, response) => answerH1(request, response, arrivals, draw));
  http.on('clientError', (_error, socket) => socket.destroy());

  const speakH2 = (socket: TLSSocket, random: Random) => {
    const wire = overlay(socket);
    const session = performServerHandshake(wire, random.chance(0.3) ? { settings: { maxConcurrentStreams: 3 } } : {});
    const hostile = new HostileSession(session, socket);
    session.on('error', () => undefined);
    session.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      answerH2(hostile, stream, headers, arrivals, draw);
    });
    if (random.chance(0.4)) later(400 * random.next(), () => endH2(hostile, random));
  };

  const tls = createTlsServer({
    ...tlsOptions,
    ALPNProtocols: [...protocols],
    requestCert: true,
    rejectUnauthorized: false,
  });
  tls.on('tlsClientError', (_error, socket) => socket.destroy());
  const speak = (socket: TLSSocket) => {
    const random = draw(`TLS ${connections}`);
    socket.on('error', () => undefined);
    const moment = random.weighted([
      [40, 'goes on'],
      [1, 'says nothing'],
      [1, 'closes'],
    ]);
    if (moment === 'closes') socket.destroy();
    if (moment !== 'goes on') return;
    if (socket.alpnProtocol === 'h2') {
      speakH2(socket, random);
      return;
    }
    http.emit('connection', socket);
    if (random.chance(0.3)) later(400 * random.next(), () => endSocket(socket, random));
  };
  tls.on('secureConnection', speak);

  const front = createServer((socket) => {
    connections += 1;
    const random = draw(`connection ${connections}`);
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
    random.weighted<() => void>([
      [60, () => tls.emit('connection', socket)],
      // TLS over a socket that is gone would be a handle that nobody closes.
      [6, () => later(60 * random.next(), () => socket.destroyed || tls.emit('connection', socket))],
      [2, () => undefined],
      [2, () => socket.destroy()],
      [2, () => socket.resetAndDestroy()],
      [1, () => socket.end('220 smtp.example.dev ESMTP\r\n')],
    ])();
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  const { port } = front.address() as AddressInfo; // it listens
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    arrivals,
    close: () => {
      over = true;
      front.close();
      for (const socket of open) socket.destroy();
    },
  };
}

/** How a connection goes away, or falls silent. */
function endSocket(socket: TLSSocket, random: Random): void {
  random.weighted<() => void>([
    [3, () => socket.end()],
    [3, () => socket.destroy()],
    [3, () => reset(socket)],
    [1, () => socket.pause()],
  ])();
}

function endH2(hostile: HostileSession, random: Random): void {
  const { session, socket } = hostile;
  if (session.destroyed || socket.destroyed) return;
  random.weighted<() => void>([
    [4, () => endSocket(socket, random)],
    [3, () => session.close()],
    [2, () => hostile.goAway(0, 2 ** 31 - 1)],
    [2, () => hostile.goAway(random.pick([0, 2, 11]), hostile.newest)],
    [3, () => session.settings({ maxConcurrentStreams: random.pick([0, 1, 2, 50]) })],
    [1, () => session.settings({ initialWindowSize: random.pick([0, 1, 1_000]) })],
    // Half a frame of data, and no more.
    [1, () => socket.end(Buffer.from('0010000000000000017b22', 'hex'))],
    [1, () => socket.write(Buffer.from('ffffffff', 'hex'), () => reset(socket))],
  ])();
}
