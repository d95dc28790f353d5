import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Random } from '../../fixtures/random.ts';
import { answer, later } from './answers.ts';
import type { Arrivals } from './arrivals.ts';

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
  const begin = (status = 200, more: Readonly<Record<string, string>> = {}) => {
    if (response.destroyed || response.headersSent) return false;
    response.writeHead(status, { 'content-type': 'application/json', ...more });
    return true;
  };
  const after = later(random, () => socket.destroyed);
  const answerAndEnd = () => {
    if (begin()) response.end('{}');
    after(5, () => socket.end());
  };
  const answerHalf = () => {
    if (begin(200, { 'content-length': '90' })) response.write('123456789');
    after(20, () => socket.destroy());
  };
  const inform = () => random.pick([() => response.writeContinue(), () => response.writeProcessing()])();
  const cut = () =>
    random.weighted<() => void>([
      [2, () => socket.destroy()],
      [1, () => socket.end()],
      [1, () => socket.write('\r\nzz\r\n')],
    ])();
  const own = [
    [1, () => socket.end('HTTP/1.1 200 O')],
    [1, () => socket.write('HTTP/1.1 99 what\r\n\r\n')],
    [1, () => begin(200, { connection: 'close' }) && response.end('{}')],
    [1, answerAndEnd],
    [1, () => begin() && response.flushHeaders()],
    [1, answerHalf],
  ] as const;
  answer({ path, request, response, begin, after, inform, cut, own }, arrival, random);
}
