import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Random } from '../../fixtures/random.ts';
import { frames } from '../../fixtures/raw-h2.ts';
import type { Arrival, Arrivals } from './arrivals.ts';
import { events } from './events.ts';
import { reset } from './reset.ts';

/** A session of HTTP/2, and what it has said of its streams. */
export class HostileSession {
  readonly session: ServerHttp2Session;
  readonly socket: TLSSocket;
  readonly #streams = new Map<number, Arrival>();
  /** Later streams are not looked at. */
  #last = Number.POSITIVE_INFINITY;

  constructor(session: ServerHttp2Session, socket: TLSSocket) {
    this.session = session;
    this.socket = socket;
  }

  /** False where it has said that it does not look at it. */
  takes(stream: number, arrival: Arrival): boolean {
    this.#streams.set(stream, arrival);
    if (stream <= this.#last) return true;
    arrival.deed = 'not looked at';
    return false;
  }

  /** The last stream that has come. */
  get newest(): number {
    return Math.max(0, ...this.#streams.keys());
  }

  /** Says that it is going, and what was the last stream that it has looked at. */
  goAway(code: number, last: number): void {
    if (this.session.destroyed) return;
    this.#last = Math.min(this.#last, last);
    for (const [id, arrival] of this.#streams) if (id > this.#last) arrival.deed = 'not looked at';
    this.session.goaway(code, this.#last);
  }
}

const refusedStream = 7;

/** Does with a request of HTTP/2 whatever is drawn. */
export function answerH2(
  hostile: HostileSession,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  arrivals: Arrivals,
  draw: (name: string) => Random,
): void {
  const path = String(headers[':path']);
  const arrival = arrivals.add(String(headers[':method']), path);
  const { socket } = hostile;
  const { id: streamId } = stream;
  if (streamId === undefined || !hostile.takes(streamId, arrival)) return;
  const random = draw(`request ${arrival.id} ${arrival.times}`);
  random.weighted<() => unknown>([
    [6, () => stream.resume()],
    [1, () => stream.once('data', () => stream.pause())],
    [2, () => undefined],
  ])();
  const begin = (more: object = {}, status = 200) => {
    if (stream.destroyed || stream.headersSent) return false;
    stream.respond({ ':status': status, 'content-type': 'application/json', ...more });
    return true;
  };
  if (path.includes('watch=true') && random.chance(0.7)) {
    if (begin()) events(stream);
    return;
  }
  const after = (ms: number, act: () => void) =>
    setTimeout(() => stream.destroyed || act(), ms * random.next()).unref();
  const reject = (code: number, send: (code: number) => void) => {
    if (code === refusedStream) arrival.deed = 'not looked at';
    send(code);
  };
  const anyCode = () => Math.floor(14 * random.next());
  const cut = () =>
    random.weighted<() => void>([
      [5, () => reject(anyCode(), (code) => stream.close(code))],
      [1, () => reject(anyCode(), (code) => socket.write(frames.reset(streamId, code)))],
      [1, () => socket.destroy()],
      [1, () => reset(socket)],
      [1, () => socket.end()],
    ])();
  const act = random.weighted<() => void>([
    [20, () => begin() && stream.end('{"items":[]}')],
    [3, () => begin() && stream.end(Buffer.alloc(300_000, 32))],
    [4, () => begin() && events(stream, 5)],
    [
      4,
      () => {
        if (begin()) stream.write('{"items":[');
        after(50, cut);
      },
    ],
    [3, () => reject(anyCode(), (code) => stream.close(code))],
    [3, () => cut()],
    [
      2,
      () => {
        reject(refusedStream, (code) => stream.close(code));
      },
    ],
    [
      2,
      () => {
        hostile.goAway(0, Math.max(0, streamId - 2));
        after(100, () => socket.destroy());
      },
    ],
    [
      1,
      () => {
        hostile.goAway(0, streamId);
        after(30, () => socket.destroy());
      },
    ],
    [
      2,
      () => {
        if (stream.destroyed) return;
        stream.additionalHeaders({ ':status': random.pick([100, 102, 103]) });
        after(20, () => begin() && stream.end('{}'));
      },
    ],
    [2, () => undefined],
    [1, () => begin()],
    [
      2,
      () => {
        arrival.deed = 'credential refused';
        if (begin({}, 401)) random.chance(0.7) ? stream.end('no') : stream.write('no');
      },
    ],
    [1, () => begin({ 'content-length': '5' }) && stream.end('123456789')],
    [1, () => begin({}, random.pick([204, 304, 404, 503])) && stream.end()],
  ]);
  if (random.chance(0.5)) act();
  else after(60, act);
}
