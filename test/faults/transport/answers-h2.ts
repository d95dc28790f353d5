import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Random } from '../../fixtures/random.ts';
import { frames } from '../../fixtures/raw-h2.ts';
import { answer, later } from './answers.ts';
import type { Arrival, Arrivals } from './arrivals.ts';
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
  const begin = (status = 200, more: Readonly<Record<string, string>> = {}) => {
    if (stream.destroyed || stream.headersSent) return false;
    stream.respond({ ':status': status, 'content-type': 'application/json', ...more });
    return true;
  };
  const reject = (code: number, send: (code: number) => void) => {
    if (code === refusedStream) arrival.deed = 'not looked at';
    send(code);
  };
  const anyCode = () => Math.floor(14 * random.next());
  const close = (code: number) => reject(code, () => stream.close(code));
  const after = later(random, () => stream.destroyed);
  const goAway = (last: number, ms: number) => {
    hostile.goAway(0, Math.max(0, last));
    after(ms, () => socket.destroy());
  };
  const inform = () => {
    if (!stream.destroyed) stream.additionalHeaders({ ':status': random.pick([100, 102, 103]) });
  };
  const cut = () =>
    random.weighted<() => void>([
      [5, () => close(anyCode())],
      [1, () => reject(anyCode(), (code) => socket.write(frames.reset(streamId, code)))],
      [1, () => socket.destroy()],
      [1, () => reset(socket)],
      [1, () => socket.end()],
    ])();
  const own = [
    [3, () => close(anyCode())],
    [2, () => close(refusedStream)],
    [2, () => goAway(streamId - 2, 100)],
    [1, () => goAway(streamId, 30)],
    [1, () => begin()],
    [1, () => begin(200, { 'content-length': '5' }) && stream.end('123456789')],
  ] as const;
  answer({ path, request: stream, response: stream, begin, after, inform, cut, own }, arrival, random);
}
