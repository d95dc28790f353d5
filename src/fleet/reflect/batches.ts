/** Reads a resource as batches of events: a list in pages that `JSON.parse` reads in a few milliseconds each, or a watch. */
import { pipeline } from 'node:stream';
import { constants, createGunzip } from 'node:zlib';
import { ApiError } from '../../errors/index.ts';
import { type ApiServer, answerTimeoutMs, Deadline } from '../../rest/api/api-server.ts';
import {
  checkEncoding,
  longestObject,
  MalformedResponse,
  parseJson,
  TooLarge,
  unpackError,
} from '../../rest/api/api-status.ts';
import type { StreamedBody } from '../../rest/request/response.ts';
import type { Clock } from '../clock.ts';
import { acceptOf, type Reading, type ReflectorEvent, readObject, readWatchEvent } from './events.ts';
import { WatchClosed, WatchEnded } from './restart.ts';
import { inTurn } from './turns.ts';

interface ResourceRequest {
  readonly server: ApiServer;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly reading: Reading;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface WatchRequest extends ResourceRequest {
  /** The version to start after; `undefined` for a streaming list. */
  readonly version: string | undefined;
  /** The server has begun to answer. */
  opened(): void;
}

/** Events that arrived together. */
export interface Batch {
  readonly events: readonly ReflectorEvent[];
  /** Of their text. */
  readonly bytes: number;
  /** To resume after them; `undefined` while a list goes on. */
  readonly version: string | undefined;
}

/** The server does not support streaming lists. */
export class NoStreamingList extends Error {}

/** Items of the first page, before it is known how large they are, and of any page. */
const firstItems = 100;
const mostItems = 500;
/** Bytes that a page should have: parsing takes about 10 ms. */
const wantedBytes = 1024 * 1024;
/** Bytes beyond which a page is dropped and requested again with fewer items. */
const mostBytes = 4 * wantedBytes;

/** Milliseconds that a server may be late to end a watch. */
const graceMs = 30_000;
/** Milliseconds between two pieces of a streaming list. */
const longestGapMs = 30_000;
/**
 * Milliseconds of silence after which a watch with bookmarks is reopened: API servers send one every 60 to 63 s. Nothing else
 * reveals a connection that died behind a proxy.
 */
const longestSilenceMs = 75_000;

/** Bytes that are unpacked at once: as many as are kept of a plain body. */
const unpackedBytes = 65_536;

export async function* listPages(list: ResourceRequest): AsyncGenerator<Batch, void> {
  let items = firstItems;
  for (let next = ''; ; ) {
    let page: Batch & { readonly continues: string };
    try {
      page = await readPage(list, next, items);
    } catch (error) {
      if (!(error instanceof TooLarge) || items === 1) throw explained(`GET ${list.path}`, error);
      items = Math.ceil(items / 10);
      continue;
    }
    yield page;
    const { events, bytes, continues } = page;
    if (continues === '') return;
    next = continues;
    items = Math.min(mostItems, Math.floor((events.length * wantedBytes) / bytes) || 1);
  }
}

async function readPage(list: ResourceRequest, next: string, items: number) {
  const { server, path, reading, clock, signal } = list;
  const parameters = { limit: String(items), ...(next === '' ? {} : { continue: next }) };
  const limit = items === 1 ? longestObject : mostBytes;
  const deadline = new Deadline(clock, signal);
  const wait = () => deadline.set(answerTimeoutMs, `GET ${path}: nothing came for ${answerTimeoutMs / 1_000} s`);
  try {
    wait();
    const accept = acceptOf(reading, 'PartialObjectMetadataList');
    const options = { signal: deadline.signal, gzip: true, accept };
    const { pieces } = await open(list, `GET ${path}`, parameters, options, constants.Z_FINISH);
    const body: Buffer[] = [];
    let size = 0;
    for await (const some of pieces) {
      for (const piece of some) size += piece.length;
      if (size > limit) throw new TooLarge();
      body.push(...some);
      wait();
    }
    return await inTurn(server, size, () => parsePage(Buffer.concat(body), reading));
  } finally {
    deadline.end();
  }
}

function parsePage(bytes: Buffer, reading: Reading) {
  const { metadata, items } = Object(parseJson(bytes.toString('utf8'), 'it is not JSON, or breaks off'));
  const { resourceVersion, continue: continues = '' } = Object(metadata);
  if (typeof resourceVersion !== 'string' || resourceVersion === '' || typeof continues !== 'string') {
    throw new MalformedResponse('it is no list: it has no metadata.resourceVersion');
  }
  // Go writes an empty list as null.
  if (!Array.isArray(items ?? [])) throw new MalformedResponse('it is no list: its items are no list');
  const events = ((items ?? []) as readonly unknown[]) // looked at above
    .map((item): ReflectorEvent => ({ type: 'InitApply', object: readObject(item, reading) }));
  const isLast = continues === '';
  if (isLast) events.push({ type: 'InitDone' });
  return { events, bytes: bytes.length, version: isLast ? resourceVersion : undefined, continues };
}

/**
 * Watches until the server ends it, without a version after a streaming list. That is a request of its own if it was compressed: API
 * servers compress no other watch, and one that stays open would need 20 us more for each event, and 100 KB in between.
 */
export async function* watchEvents(watch: WatchRequest): AsyncGenerator<Batch, void> {
  const version = yield* readWatch(watch);
  if (version !== undefined) yield* readWatch({ ...watch, version });
}

/** One request. Returns the version at which the next one has to go on, if it ended with a compressed list. */
async function* readWatch(watch: WatchRequest): AsyncGenerator<Batch, string | undefined> {
  const { server, path, reading, clock, signal } = watch;
  let { version } = watch;
  const what = `watch ${path}`;
  // Until the server ends the watch: at random, so that not all begin again at once.
  const timeoutSeconds = Math.round(300 + 300 * Math.random());
  const parameters = {
    watch: 'true',
    allowWatchBookmarks: 'true',
    timeoutSeconds: String(timeoutSeconds),
    ...(version === undefined
      ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }
      : { resourceVersion: version }),
  };
  const endsAt = clock.uptime() + timeoutSeconds * 1_000 + graceMs;
  let getsBookmarks = false;
  const deadline = new Deadline(clock, signal);
  const wait = () => {
    const leftMs = endsAt - clock.uptime();
    if (version === undefined)
      deadline.set(longestGapMs, `${what}: the streaming list stopped for ${longestGapMs / 1_000} s`);
    else if (getsBookmarks && longestSilenceMs < leftMs)
      deadline.set(longestSilenceMs, `${what}: nothing came for ${longestSilenceMs / 1_000} s, not even a bookmark`);
    else deadline.set(leftMs, `${what}: the server did not end it in time`);
  };
  try {
    deadline.set(answerTimeoutMs, `${what}: no answer for ${answerTimeoutMs / 1_000} s`);
    const accept = acceptOf(reading, 'PartialObjectMetadata');
    const options = { signal: deadline.signal, gzip: version === undefined, accept };
    // A compressed body that breaks off ends there: its end is missing then.
    const { pieces, isPacked } = await open(watch, what, parameters, options, constants.Z_SYNC_FLUSH);
    watch.opened();
    const lines = new Lines();
    wait();
    for await (const some of pieces) {
      // The deadline is for the server, not for a slow reader.
      deadline.clear();
      const ended = lines.push(some);
      const bytes = ended.length;
      const read = await inTurn(server, bytes, () => linesOf(ended).map((line) => readWatchEvent(line, reading)));
      const events: ReflectorEvent[] = [];
      let failure: WatchEnded | undefined;
      for (const event of read) {
        const isListing = version === undefined;
        if (event.type === 'ERROR') {
          failure = new WatchEnded(event.status, server.shown);
          break;
        }
        if (event.type === 'BOOKMARK') {
          getsBookmarks ||= !event.endsInitialEvents;
          if (isListing && !event.endsInitialEvents) continue;
          version = event.version;
          if (isListing) events.push({ type: 'InitDone' });
          // The rest comes again.
          if (isListing && isPacked) break;
        } else if (event.type === 'DELETED') events.push({ type: 'Delete', object: event.object });
        else events.push({ type: isListing ? 'InitApply' : 'Apply', object: event.object });
        if (!isListing && 'object' in event) version = event.object.metadata.resourceVersion ?? version;
      }
      if (read.length > 0) yield { events, bytes, version };
      if (failure) throw failure;
      if (isPacked && watch.version === undefined && version !== undefined) return version;
      wait();
    }
    if (version === undefined) throw new WatchClosed('the server ended the streaming list before its end');
    return undefined;
  } catch (error) {
    const isRefused = error instanceof ApiError && [400, 405, 422, 501].includes(error.statusCode ?? 0);
    throw isRefused && watch.version === undefined ? new NoStreamingList(error.message) : explained(what, error);
  } finally {
    deadline.end();
  }
}

/** Begins a request. `pieces` is its body, unpacked. */
async function open(
  { server, path, query }: ResourceRequest,
  what: string,
  parameters: Readonly<Record<string, string>>,
  options: Parameters<ApiServer['get']>[1],
  finishFlush: number,
) {
  const response = await server.get(`${path}?${new URLSearchParams({ ...query, ...parameters })}`, options);
  if (response.statusCode !== 200) throw await server.refusalOf(response, what);
  const encoding = server.contentEncodingOf(response.headers);
  checkEncoding(encoding);
  const { body } = response;
  const isPacked = encoding !== '';
  return { isPacked, pieces: isPacked ? unpacked(body, finishFlush) : body.groups() };
}

/** Unpacks a body as it arrives, which may have several gzip members: Kubernetes ends one at each flush. */
async function* unpacked(body: StreamedBody, finishFlush: number): AsyncGenerator<readonly Buffer[], void> {
  const gunzip = createGunzip({ chunkSize: unpackedBytes, finishFlush });
  pipeline(body, gunzip, () => {});
  for await (const piece of gunzip) yield [piece];
}

/** What is wrong with an answer, with the request that it is for. */
function explained(what: string, caught: unknown): unknown {
  const error = unpackError(caught);
  return error instanceof MalformedResponse ? new MalformedResponse(`${what}: the answer: ${error.message}`) : error;
}

const newline = 0x0a;

/** Puts the chunks of a watch together to lines. Each line is one JSON value. */
export class Lines {
  /** The beginning of the next line. */
  readonly #open: Buffer[] = [];
  #openBytes = 0;

  /**
   * Returns the lines that these pieces completed, for `linesOf`.
   * @throws {TooLarge} if the next line is longer than any object
   */
  push(pieces: readonly Buffer[]): Buffer {
    if (!pieces.some((piece) => piece.includes(newline))) {
      this.#keep(pieces);
      return Buffer.alloc(0);
    }
    const text = Buffer.concat([...this.#open.splice(0), ...pieces]);
    const end = text.lastIndexOf(newline) + 1;
    this.#openBytes = 0;
    // An empty rest would keep the memory of the whole.
    if (end < text.length) this.#keep([text.subarray(end)]);
    return text.subarray(0, end);
  }

  #keep(pieces: readonly Buffer[]): void {
    this.#open.push(...pieces);
    this.#openBytes += pieces.reduce((sum, { length }) => sum + length, 0);
    if (this.#openBytes > longestObject) throw new TooLarge();
  }
}

export function linesOf(ended: Buffer): readonly string[] {
  const lines = ended.toString('utf8').split('\n');
  return lines.filter((line) => line.trim() !== '');
}
