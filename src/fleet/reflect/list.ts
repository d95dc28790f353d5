/** Reads a list in pages that `JSON.parse` reads in a few milliseconds each. */

import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type ApiServer, answerTimeoutMs, Deadline } from '../../rest/api/api-server.ts';
import {
  checkEncoding,
  longestObject,
  MalformedResponse,
  parseJson,
  TooLarge,
  unpackError,
} from '../../rest/api/api-status.ts';
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import type { Clock } from '../clock.ts';
import { acceptOf, type Reading, readObject } from './events.ts';
import { inTurn } from './turns.ts';

/** What is read, and how. */
export interface ResourceRequest {
  readonly server: ApiServer;
  readonly path: string;
  /** Selectors. */
  readonly query: Readonly<Record<string, string>>;
  readonly reading: Reading;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface ListPage {
  readonly objects: readonly KubernetesObject[];
  /** Of its text. */
  readonly bytes: number;
  /** Of the list. */
  readonly version: string;
  /** The token of the next page; empty for the last. */
  readonly continues: string;
}

/** Items of the first page, before it is known how large they are, and of any page. */
const firstItems = 100;
const mostItems = 500;
/** Bytes that a page should have: parsing takes about 10 ms. */
const wantedBytes = 1024 * 1024;
/** Bytes beyond which a page is dropped and requested again with fewer items. */
const mostBytes = 4 * wantedBytes;

const unpack = promisify(gunzip);

/** Yields one page at a time. */
export async function* listPages(list: ResourceRequest): AsyncGenerator<ListPage, void> {
  let items = firstItems;
  for (let next = ''; ; ) {
    let page: ListPage;
    try {
      page = await readPage(list, next, items);
    } catch (error) {
      if (error instanceof TooLarge && items > 1) {
        items = Math.ceil(items / 10);
        continue;
      }
      throw error instanceof MalformedResponse
        ? new MalformedResponse(`GET ${list.path}: the answer: ${error.message}`)
        : error;
    }
    yield page;
    const { objects, bytes, continues } = page;
    if (continues === '') return;
    next = continues;
    items = Math.min(mostItems, Math.floor((objects.length * wantedBytes) / bytes) || 1);
  }
}

async function readPage(list: ResourceRequest, next: string, items: number): Promise<ListPage> {
  const { server, path, query, reading, clock, signal } = list;
  const parameters = new URLSearchParams(query);
  parameters.set('limit', String(items));
  if (next !== '') parameters.set('continue', next);
  const what = `GET ${path}`;
  const limit = items === 1 ? longestObject : mostBytes;
  const deadline = new Deadline(clock, signal);
  const wait = () => deadline.set(answerTimeoutMs, `${what}: nothing came for ${answerTimeoutMs / 1_000} s`);
  try {
    wait();
    const response = await server.get(`${path}?${parameters}`, {
      signal: deadline.signal,
      gzip: true,
      accept: acceptOf(reading, 'PartialObjectMetadataList'),
    });
    if (response.statusCode !== 200) throw await server.refusalOf(response, what);
    const encoding = server.contentEncodingOf(response.headers);
    checkEncoding(encoding);
    const body: Buffer[] = [];
    let size = 0;
    for (let pieces = await response.body.next(); pieces; pieces = await response.body.next()) {
      for (const piece of pieces) size += piece.length;
      if (size > limit) throw new TooLarge();
      body.push(...pieces);
      wait();
    }
    const sent = Buffer.concat(body);
    const bytes = encoding === '' ? sent : await unpack(sent, { maxOutputLength: limit });
    return await inTurn(server, bytes.length, () => parsePage(bytes, reading));
  } catch (error) {
    throw unpackError(error);
  } finally {
    deadline.end();
  }
}

function parsePage(bytes: Buffer, reading: Reading): ListPage {
  const { metadata, items } = Object(parseJson(bytes.toString('utf8'), 'it is not JSON, or breaks off'));
  const { resourceVersion, continue: continues = '' } = Object(metadata);
  if (typeof resourceVersion !== 'string' || resourceVersion === '' || typeof continues !== 'string') {
    throw new MalformedResponse('it is no list: it has no metadata.resourceVersion');
  }
  // Go writes an empty list as null.
  if (!Array.isArray(items ?? [])) throw new MalformedResponse('it is no list: its items are no list');
  const objects = ((items ?? []) as readonly unknown[]).map((item) => readObject(item, reading)); // looked at above
  return { objects, bytes: bytes.length, version: resourceVersion, continues };
}
