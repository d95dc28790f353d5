import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Random } from '../../fixtures/random.ts';
import type { Arrivals } from './arrivals.ts';
import { events } from './events.ts';

/** Does with a request of HTTP/1.1 whatever is drawn. */
export function answerH1(
  request: IncomingMessage,
  response: ServerResponse,
  arrivals: Arrivals,
  draw: (name: string) => Random,
): void {
  const { socket } = request;
  const path = String(request.url);
  const arrival = arrivals.add(String(request.method), path);
  const random = draw(`request ${arrival.id} ${arrival.times}`);
  request.on('error', () => undefined);
  response.on('error', () => undefined);
  random.weighted<() => unknown>([
    [6, () => request.resume()],
    [1, () => request.once('data', () => request.pause())],
    [2, () => undefined],
  ])();
  const begin = (more: Record<string, string> = {}, status = 200) => {
    if (response.destroyed || response.headersSent) return false;
    response.writeHead(status, { 'content-type': 'application/json', ...more });
    return true;
  };
  if (path.includes('watch=true') && random.chance(0.7)) {
    if (begin()) events(response);
    return;
  }
  const after = (ms: number, act: () => void) =>
    setTimeout(() => socket.destroyed || act(), ms * random.next()).unref();
  const cut = () =>
    random.weighted<() => void>([
      [2, () => socket.destroy()],
      [1, () => socket.end()],
      [1, () => socket.write('\r\nzz\r\n')],
    ])();
  const act = random.weighted<() => void>([
    [20, () => begin() && response.end('{"items":[]}')],
    [3, () => begin() && response.end(Buffer.alloc(300_000, 32))],
    [4, () => begin() && events(response, 5)],
    [
      4,
      () => {
        if (begin()) response.write('{"items":[');
        after(50, cut);
      },
    ],
    [3, () => cut()],
    [1, () => socket.end('HTTP/1.1 200 O')],
    [1, () => socket.write('HTTP/1.1 99 what\r\n\r\n')],
    [1, () => begin({ connection: 'close' }) && response.end('{}')],
    [
      1,
      () => {
        if (begin()) response.end('{}');
        after(5, () => socket.end());
      },
    ],
    [
      2,
      () => {
        random.pick([() => response.writeContinue(), () => response.writeProcessing()])();
        after(20, () => begin() && response.end('{}'));
      },
    ],
    [2, () => undefined],
    [1, () => begin() && response.flushHeaders()],
    [
      2,
      () => {
        arrival.deed = 'credential refused';
        if (begin({}, 401)) random.chance(0.7) ? response.end('no') : response.write('no');
      },
    ],
    [1, () => begin({ 'content-length': '90' }) && response.write('123456789') && after(20, () => socket.destroy())],
    [1, () => begin({}, random.pick([204, 304, 404, 503])) && response.end()],
  ]);
  if (random.chance(0.5)) act();
  else after(60, act);
}

export function answerUpgrade(request: IncomingMessage, socket: Duplex, draw: (name: string) => Random): void {
  const random = draw(`upgrade ${request.url}`);
  socket.on('error', () => undefined).resume();
  random.weighted<() => void>([
    [3, () => socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: chat\r\n\r\nhello')],
    [1, () => socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')],
    [1, () => socket.destroy()],
    [1, () => undefined],
  ])();
}
