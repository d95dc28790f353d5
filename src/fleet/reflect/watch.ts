/** One watch: from a version on, or a streaming list first. */
import type { ApiServer } from '../../rest/api/api-server.ts';
import { answerTimeoutMs, Deadline } from '../../rest/api/deadline.ts';
import { checkEncoding, MalformedResponse } from '../../rest/api/malformed.ts';
import type { Clock } from '../clock.ts';
import { acceptOf, type Reading, readWatchEvent, type WatchEvent } from './events.ts';
import { Lines, linesOf } from './lines.ts';
import { inTurn } from './turns.ts';

export interface WatchRequest {
  readonly server: ApiServer;
  readonly path: string;
  /** Selectors. */
  readonly query: Readonly<Record<string, string>>;
  /** The version to start after; `undefined` for a streaming list. */
  readonly version: string | undefined;
  /** Seconds until the server ends the watch. */
  readonly timeoutSeconds: number;
  readonly reading: Reading;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The server has begun to answer. */
  opened(): void;
}

/** Milliseconds that a server may be late to end a watch. */
const graceMs = 30_000;
/** Milliseconds between two pieces of a streaming list. */
const longestGapMs = 30_000;

/**
 * Milliseconds of silence after which a watch with bookmarks is reopened: API servers send one every 60 to 63 s. Nothing else
 * reveals a connection that died behind a proxy.
 */
const longestSilenceMs = 75_000;

/** The server does not support streaming lists. */
export class NoStreamingList extends Error {}

/** Events that arrived together. */
export interface WatchEvents {
  readonly events: readonly WatchEvent[];
  /** Of their text. */
  readonly bytes: number;
}

/** Yields events in groups until the server ends the watch. */
export async function* watchEvents(watch: WatchRequest): AsyncGenerator<WatchEvents, void> {
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
  let getsBookmarks = false;
  const deadline = new Deadline(clock, signal);
  try {
    deadline.set(answerTimeoutMs, `${what}: no answer for ${answerTimeoutMs / 1_000} s`);
    const response = await server.get(`${path}?${parameters}`, {
      signal: deadline.signal,
      accept: acceptOf(reading, 'PartialObjectMetadata'),
    });
    if (response.statusCode !== 200) {
      const refusal = await server.refusalOf(response, what);
      throw listing && [400, 405, 422, 501].includes(response.statusCode)
        ? new NoStreamingList(refusal.message)
        : refusal;
    }
    checkEncoding(server.contentEncodingOf(response.headers));
    watch.opened();
    const wait = () => {
      const leftMs = endsAt - clock.uptime();
      if (listing) deadline.set(longestGapMs, `${what}: the streaming list stopped for ${longestGapMs / 1_000} s`);
      else if (getsBookmarks && longestSilenceMs < leftMs)
        deadline.set(longestSilenceMs, `${what}: nothing came for ${longestSilenceMs / 1_000} s, not even a bookmark`);
      else deadline.set(leftMs, `${what}: the server did not end it in time`);
    };
    const lines = new Lines();
    wait();
    for (let pieces = await response.body.next(); pieces; pieces = await response.body.next()) {
      // The deadline is for the server, not for a slow reader.
      deadline.clear();
      const ended = lines.push(pieces);
      const bytes = ended.length;
      const events = await inTurn(server, bytes, () => linesOf(ended).map((line) => readWatchEvent(line, reading)));
      getsBookmarks ||= events.some((event) => event.type === 'BOOKMARK' && !event.endsInitialEvents);
      if (listing) listing = !events.some((event) => event.type === 'BOOKMARK' && event.endsInitialEvents);
      if (events.length > 0) yield { events, bytes };
      wait();
    }
  } catch (error) {
    throw error instanceof MalformedResponse ? new MalformedResponse(`${what}: the answer: ${error.message}`) : error;
  } finally {
    deadline.end();
  }
}
