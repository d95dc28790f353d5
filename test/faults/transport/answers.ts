// What a hostile server does with a request, whatever is spoken.
import type { Readable, Writable } from 'node:stream';
import type { Random } from '../../fixtures/random.ts';
import type { Arrival } from './arrivals.ts';
import { events } from './events.ts';

/** One request, and what can be done with it in its version of HTTP. */
export interface Exchange {
  readonly path: string;
  readonly request: Readable;
  readonly response: Writable;
  /** Sends the head. False where one was sent, or the client has gone. */
  readonly begin: (status?: number, headers?: Readonly<Record<string, string>>) => boolean;
  readonly after: ReturnType<typeof later>;
  /** Sends a head that is none yet, such as 100. */
  readonly inform: () => void;
  /** Breaks off. */
  readonly cut: () => void;
  /** What only this version of HTTP has. */
  readonly own: readonly (readonly [weight: number, act: () => unknown])[];
}

/** Does something within so many milliseconds, unless all is over then. */
export const later = (random: Random, isOver: () => boolean) => (ms: number, act: () => void) =>
  void setTimeout(() => isOver() || act(), ms * random.next()).unref();

/** Does with it whatever is drawn. */
export function answer(
  { path, request, response, begin, after, inform, cut, own }: Exchange,
  arrival: Arrival,
  random: Random,
): void {
  random.weighted<() => unknown>([
    [6, () => request.resume()],
    [1, () => request.once('data', () => request.pause())],
    [2, () => undefined],
  ])();
  if (path.includes('watch=true') && random.chance(0.7)) {
    if (begin()) events(response);
    return;
  }
  const beginAndBreakOff = () => {
    if (begin()) response.write('{"items":[');
    after(50, cut);
  };
  const informAndAnswer = () => {
    inform();
    after(20, () => begin() && response.end('{}'));
  };
  const refuse = () => {
    arrival.deed = 'credential refused';
    if (begin(401)) random.chance(0.7) ? response.end('no') : response.write('no');
  };
  const act = random.weighted<() => unknown>([
    [20, () => begin() && response.end('{"items":[]}')],
    [3, () => begin() && response.end(Buffer.alloc(300_000, 32))],
    [4, () => begin() && events(response, 5)],
    [4, beginAndBreakOff],
    [3, cut],
    [2, informAndAnswer],
    [2, () => undefined],
    [2, refuse],
    [1, () => begin(random.pick([204, 304, 404, 503])) && response.end()],
    ...own,
  ]);
  if (random.chance(0.5)) act();
  else after(60, act);
}
