/** One watch: from a version on, or a streaming list first. */
import { pipeline } from 'node:stream';
import { constants, createGunzip } from 'node:zlib';
import { answerTimeoutMs, Deadline } from '../../rest/api/api-server.ts';
import { checkEncoding, longestObject, MalformedResponse, TooLarge, unpackError } from '../../rest/api/api-status.ts';
import type { StreamedBody } from '../../rest/request/streamed-response.ts';
import { acceptOf, readWatchEvent, type WatchEvent } from './events.ts';
import type { ResourceRequest } from './list.ts';
import { inTurn } from './turns.ts';

export interface WatchRequest extends ResourceRequest {
  /** The version to start after; `undefined` for a streaming list. */
  readonly version: string | undefined;
  /** Seconds until the server ends the watch. */
  readonly timeoutSeconds: number;
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

/** Bytes that are unpacked at once: as many as are kept of a plain body. */
const unpackedBytes = 65_536;

/** Yields events in groups until the server ends the watch. */
export async function* watchEvents(watch: WatchRequest): AsyncGenerator<WatchEvents, void> {
  const version = yield* eventsOf(watch);
  if (version !== undefined) yield* eventsOf({ ...watch, version });
}

/**
 * The events of one request. It ends with a streaming list that was compressed, and returns the version to go on from: API servers
 * compress no other watch, and one that stays open would need 20 us more for each event, and 100 KB in between.
 */
async function* eventsOf(watch: WatchRequest): AsyncGenerator<WatchEvents, string | undefined> {
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
      gzip: listing,
      accept: acceptOf(reading, 'PartialObjectMetadata'),
    });
    if (response.statusCode !== 200) {
      const refusal = await server.refusalOf(response, what);
      throw listing && [400, 405, 422, 501].includes(response.statusCode)
        ? new NoStreamingList(refusal.message)
        : refusal;
    }
    const encoding = server.contentEncodingOf(response.headers);
    checkEncoding(encoding);
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
    for await (const pieces of encoding === '' ? response.body.groups() : unpacked(response.body)) {
      // The deadline is for the server, not for a slow reader.
      deadline.clear();
      const ended = lines.push(pieces);
      const bytes = ended.length;
      const events = await inTurn(server, bytes, () => linesOf(ended).map((line) => readWatchEvent(line, reading)));
      getsBookmarks ||= events.some((event) => event.type === 'BOOKMARK' && !event.endsInitialEvents);
      const end = listing ? events.find(isEnd) : undefined;
      if (end) listing = false;
      if (end && encoding !== '') {
        // The rest comes again.
        yield { events: events.slice(0, events.indexOf(end) + 1), bytes };
        return end.version;
      }
      if (events.length > 0) yield { events, bytes };
      wait();
    }
    return undefined;
  } catch (caught) {
    const error = unpackError(caught);
    throw error instanceof MalformedResponse ? new MalformedResponse(`${what}: the answer: ${error.message}`) : error;
  } finally {
    deadline.end();
  }
}

function isEnd(event: WatchEvent): event is WatchEvent & { readonly type: 'BOOKMARK' } {
  return event.type === 'BOOKMARK' && event.endsInitialEvents;
}

/** Unpacks a body as it arrives, which may have several gzip members: Kubernetes ends one at each flush. */
async function* unpacked(body: StreamedBody): AsyncGenerator<readonly Buffer[], void> {
  // A body that breaks off ends here: its reader knows what is missing.
  const gunzip = createGunzip({ chunkSize: unpackedBytes, finishFlush: constants.Z_SYNC_FLUSH });
  pipeline(body, gunzip, () => {});
  for await (const piece of gunzip) yield [piece];
}

const newline = 0x0a;
const nothing = Buffer.alloc(0);

/** Puts the chunks of a watch together to lines. Each line is one JSON value. */
export class Lines {
  /** The beginning of the next line. */
  #open: Buffer[] = [];
  #openBytes = 0;

  /**
   * Returns the lines that these pieces completed, for `linesOf`.
   * @throws {TooLarge} if the next line is longer than any object
   */
  push(pieces: readonly Buffer[]): Buffer {
    const last = pieces.findLastIndex((piece) => piece.includes(newline));
    const piece = pieces[last];
    if (!piece) {
      this.#keep(pieces);
      return nothing;
    }
    const end = piece.lastIndexOf(newline);
    const ended = Buffer.concat([...this.#open, ...pieces.slice(0, last), piece.subarray(0, end)]);
    this.#open = [];
    this.#openBytes = 0;
    this.#keep([piece.subarray(end + 1), ...pieces.slice(last + 1)]);
    return ended;
  }

  #keep(pieces: readonly Buffer[]): void {
    for (const piece of pieces) {
      if (piece.length === 0) continue;
      this.#open.push(piece);
      this.#openBytes += piece.length;
    }
    if (this.#openBytes > longestObject) throw new TooLarge();
  }
}

export function linesOf(ended: Buffer): readonly string[] {
  const lines = ended.toString('utf8').split('\n');
  return lines.filter((line) => line.trim() !== '');
}
