/** One watch: from a version on, or with everything that is there first. */
import { type ApiServer, answerTimeoutMs, Deadline } from '../api-server.ts';
import type { Clock } from '../clock.ts';
import { chunksOf } from './chunks.ts';
import { type ObjectReading, readWatchEvent, type WatchEvent } from './events.ts';
import { Lines } from './lines.ts';
import { checkPacking, MalformedResponse } from './malformed.ts';
import { inSlice } from './slices.ts';

export interface WatchRequest {
  readonly server: ApiServer;
  readonly path: string;
  /** Selectors. */
  readonly query: Readonly<Record<string, string>>;
  /** Where to go on; `undefined` for a streaming list. */
  readonly version: string | undefined;
  /** Seconds until the server ends it. */
  readonly timeoutSeconds: number;
  readonly reading: ObjectReading;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The server has begun to answer. */
  opened(): void;
}

/** Milliseconds that a server may be late in ending a watch. */
const graceMs = 30_000;
/** Milliseconds between two pieces of a streaming list. */
const longestGapMs = 30_000;

/** The server does not know streaming lists. */
export class NoStreamingList extends Error {}

/** Gives out events in groups until the server ends the watch. */
export async function* watchEvents(watch: WatchRequest): AsyncGenerator<readonly WatchEvent[], void> {
  const { server, path, version, timeoutSeconds, reading, clock, signal } = watch;
  const parameters = new URLSearchParams(watch.query);
  parameters.set('watch', 'true');
  parameters.set('allowWatchBookmarks', 'true');
  parameters.set('timeoutSeconds', String(timeoutSeconds));
  if (version === undefined) {
    parameters.set('sendInitialEvents', 'true');
    parameters.set('resourceVersionMatch', 'NotOlderThan');
  } else {
    parameters.set('resourceVersion', version);
  }
  const what = `watch ${path}`;
  const endsAt = clock.uptime() + timeoutSeconds * 1_000 + graceMs;
  let listing = version === undefined;
  const deadline = new Deadline(clock, signal);
  try {
    deadline.set(answerTimeoutMs, `${what}: no answer for ${answerTimeoutMs / 1_000} s`);
    const response = await server.stream(`${path}?${parameters}`, deadline.signal);
    if (response.statusCode !== 200) {
      const body = piecesOf(chunksOf(response.body, deadline));
      const refusal = await server.refusalOf({ ...response, body }, what);
      throw listing && [400, 405, 422, 501].includes(response.statusCode)
        ? new NoStreamingList(refusal.message)
        : refusal;
    }
    checkPacking(server.packingOf(response.headers));
    watch.opened();
    const patience = () => {
      if (listing) deadline.set(longestGapMs, `${what}: the streaming list stopped for ${longestGapMs / 1_000} s`);
      else deadline.set(endsAt - clock.uptime(), `${what}: the server did not end it in time`);
    };
    const lines = new Lines();
    for await (const pieces of chunksOf(response.body, deadline, patience)) {
      const events = await inSlice(() => lines.push(pieces).map((line) => readWatchEvent(line, reading)));
      if (events.length === 0) continue;
      if (listing) listing = !events.some((event) => event.type === 'BOOKMARK' && event.endsInitialEvents);
      yield events;
    }
  } catch (error) {
    throw error instanceof MalformedResponse ? new MalformedResponse(`${what}: the answer: ${error.message}`) : error;
  } finally {
    deadline.end();
  }
}

/** One after the other. */
async function* piecesOf(groups: AsyncIterable<readonly Buffer[]>): AsyncGenerator<Buffer, void> {
  for await (const pieces of groups) yield* pieces;
}
