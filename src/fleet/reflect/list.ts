/** A list in pages, whose items are given out while they come. */

import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { FleetError } from '../../errors.ts';
import { type ApiResponse, type ApiServer, answerTimeoutMs, Deadline } from '../api-server.ts';
import type { Clock } from '../clock.ts';
import { type KubernetesObject, keyOf } from '../kubernetes-object.ts';
import { bodyOf, chunksOf } from './chunks.ts';
import { type ObjectReading, readObject } from './events.ts';
import { ItemSplitter } from './item-splitter.ts';
import { checkPacking, MalformedResponse, parseBounded } from './malformed.ts';
import { Pages } from './pages.ts';
import { inSlice } from './slices.ts';

export interface ListRequest {
  readonly server: ApiServer;
  readonly path: string;
  /** Selectors. */
  readonly query: Readonly<Record<string, string>>;
  /** Items in a page; 0 for all in one. */
  readonly pageSize: number;
  readonly reading: ObjectReading;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Gives out the objects in groups. Returns the version of the list. */
export async function* listPages(list: ListRequest): AsyncGenerator<readonly KubernetesObject[], string> {
  const pages = new Pages(`GET ${list.path}`);
  for (let next = ''; ; ) {
    const { version, continues, first } = yield* listPage(list, next);
    if (continues === '') return version;
    pages.goOn(continues, first);
    next = continues;
  }
}

interface PageEnd {
  readonly version: string;
  /** The key of its first object. */
  readonly first: string | undefined;
  /** The token of the next page; empty for the last. */
  readonly continues: string;
}

async function* listPage(
  { server, path, query, pageSize, reading, clock, signal }: ListRequest,
  next: string,
): AsyncGenerator<readonly KubernetesObject[], PageEnd> {
  const parameters = new URLSearchParams(query);
  if (pageSize > 0) parameters.set('limit', String(pageSize));
  if (next !== '') parameters.set('continue', next);
  const what = `GET ${path}`;
  const text = parameters.toString();
  const deadline = new Deadline(clock, signal);
  const patience = () => deadline.set(answerTimeoutMs, `${what}: nothing came for ${answerTimeoutMs / 1_000} s`);
  try {
    patience();
    const response = await server.get(`${path}${text === '' ? '' : `?${text}`}`, {
      signal: deadline.signal,
      gzip: true,
    });
    if (response.statusCode !== 200)
      throw withSelectors(await server.refusalOf(response, what), next === '' ? query : {});
    const splitter = new ItemSplitter();
    let first: string | undefined;
    for await (const pieces of chunksOf(
      bodyOf(unzipped(response, server.packingOf(response.headers))),
      deadline,
      patience,
    )) {
      const objects = await inSlice(() => pieces.flatMap((piece) => readItems(splitter, piece, reading)));
      const [object] = objects;
      if (!object) continue;
      first ??= keyOf(object);
      yield objects;
    }
    return { ...readEnvelope(splitter.end()), first };
  } catch (error) {
    if (isOfZlib(error))
      throw new MalformedResponse(`${what}: the answer: it cannot be unpacked (gzip): ${error.message}`);
    throw error instanceof MalformedResponse ? new MalformedResponse(`${what}: the answer: ${error.message}`) : error;
  } finally {
    deadline.end();
  }
}

/** What an API server cannot read of a first page is, where there are selectors, one of them: nothing else of it is the caller's. */
function withSelectors(refusal: FleetError, query: ListRequest['query']): FleetError {
  const { statusCode, reason, message } = refusal;
  const selectors = Object.entries(query).map(([name, value]) => `${name} (${value})`);
  if (statusCode !== 400 || reason !== 'BadRequest' || selectors.length === 0) return refusal;
  return new FleetError('API_STATUS', `${message}: mend the option ${selectors.join(' or ')}`, {
    statusCode,
    reason,
  });
}

/** Throws `MalformedResponse` where it is packed in another way. */
function unzipped({ body }: ApiResponse, packing: string): Readable {
  checkPacking(packing, 'gzip');
  if (packing === '') return body;
  const plain = createGunzip({ chunkSize: 65_536 });
  plain.once('close', () => body.destroy());
  return body.once('error', (error) => plain.destroy(error)).pipe(plain);
}

function isOfZlib(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && /^Z_/.test(String(error.code));
}

function readItems(splitter: ItemSplitter, piece: Buffer, reading: ObjectReading): readonly KubernetesObject[] {
  const text = splitter.push(piece);
  if (text === undefined) return [];
  // The splitter gives the text of an array.
  const items = parseBounded(text, 'it is not JSON') as readonly unknown[];
  return items.map((item) => readObject(item, reading));
}

function readEnvelope(text: string): Omit<PageEnd, 'first'> {
  const metadata: unknown = Object(parseBounded(text, 'it is not JSON')).metadata;
  const { resourceVersion, continue: continues = '' } = Object(metadata);
  if (typeof resourceVersion !== 'string' || resourceVersion === '' || typeof continues !== 'string') {
    throw new MalformedResponse('it is no list: it has no metadata.resourceVersion');
  }
  return { version: resourceVersion, continues };
}
