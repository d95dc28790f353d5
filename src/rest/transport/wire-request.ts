/** A request as it goes out: its name in messages, its headers and body, and the state that it shares with its pool and its socket. */
import type { Dispatcher } from 'undici';
import { printable } from '../../util/printable.ts';

/** The path of a request, which may be anything if its caller has no types. */
export function withoutQuery(path: unknown): string {
  return String(path).replace(/[?#].*/s, '');
}

/** Method and path, without the query. */
export function requestName({ method, path }: Dispatcher.DispatchOptions): string {
  return `${method} ${printable(withoutQuery(path), 1_024)}`;
}

export type HeaderRecord = Record<string, string | string[]>;

/**
 * The headers by their names in lower case, each once. One bad header would end an HTTP/2 connection with everybody's requests on it,
 * so hop-by-hop headers are removed, and a caller's `Host`, which undici would take for the server's name.
 */
export function readHeaders(headers: Dispatcher.DispatchOptions['headers']): HeaderRecord {
  // Without a prototype a name like __proto__ is plain data.
  const result: HeaderRecord = Object.create(null);
  // Every form that undici takes: a flat list, a Map or `Headers`, an object.
  if (Array.isArray(headers))
    for (let i = 0; i + 1 < headers.length; i += 2) add(result, String(headers[i]), headers[i + 1]);
  else if (headers && Symbol.iterator in headers) for (const [name, value] of headers) add(result, name, value);
  else if (headers) for (const name of Object.keys(headers)) add(result, name, headers[name]);
  return result;
}

function add(result: HeaderRecord, given: string, value: unknown): void {
  const name = given.toLowerCase();
  if (value === undefined || hopByHop.has(name) || (name === 'te' && value !== 'trailers')) return;
  const before = result[name];
  if (before === undefined && typeof value === 'string') {
    result[name] = value;
    return;
  }
  const all = [before ?? [], value].flat().map(String);
  // Of a header that may be given once, the last value wins, as in an object.
  result[name] = all.length === 1 || onlyOnce.has(name) ? (all.at(-1) ?? '') : all;
}

export const hopByHop: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);
const onlyOnce: ReadonlySet<string> = new Set([
  'accept-encoding',
  'authorization',
  'content-length',
  'content-type',
  'user-agent',
]);

/** What is sent, with each header once, by its name in lower case. */
export interface WireRequest extends Dispatcher.DispatchOptions {
  readonly headers: Readonly<HeaderRecord>;
}

/** A request that a pool sends, and the handler of its response. */
export interface PooledRequest extends Required<Pick<Dispatcher.DispatchHandler, HandlerEvents>> {
  /** It may be silent for as long as it likes. */
  readonly longRunning: boolean;
  /** Since when it has waited for a socket that takes it; the pool sets it if it is not set yet. */
  waitsSince: number | undefined;
  /** The socket that took it last had carried a response before. */
  reused: boolean;
  /** Without a controller if it never went out. */
  onResponseError(controller: Dispatcher.DispatchController | undefined, error: Error): void;
}

type HandlerEvents = 'onRequestStart' | 'onResponseStart' | 'onResponseData' | 'onResponseEnd';

export interface PoolOptions {
  /** Milliseconds that a socket stays open between two requests. */
  readonly keepAliveTimeoutMs: number;
  /** Milliseconds between two looks at an HTTP/2 connection: without a byte since the last one its peer is pinged, and then given up. */
  readonly pingIntervalMs: number;
  /** Milliseconds until a connection attempt fails. */
  readonly connectTimeoutMs: number;
  /**
   * Milliseconds until a response begins, and for which it may then stop: an API server answers within 60 s. Long-running requests
   * have no limit.
   */
  readonly responseTimeoutMs: number;
}

/** As in client-go, a peer that is silent is given up within 45 s. API servers close an idle socket after 90 s, balancers after 60 s. */
export const poolDefaults: PoolOptions = {
  keepAliveTimeoutMs: 55_000,
  pingIntervalMs: 15_000,
  connectTimeoutMs: 10_000,
  responseTimeoutMs: 75_000,
};

/** The server has not processed the request (RFC 9113, 8.7): it may go out again, whatever its method. */
export class UnsentError extends Error {
  static readonly code = 'ERR_REQUEST_UNSENT';
  readonly code = UnsentError.code;
}

/** The name of a header with several values. undici joins them on HTTP/2, and two groups to impersonate are not one with a comma. */
export function repeatedHeader({ headers }: WireRequest): string | undefined {
  return Object.keys(headers).find((name) => Array.isArray(headers[name]) && headers[name].length > 1);
}

/** Bytes from which a body is an upload. A hundred bodies of this length are less than `maxSessionMemory`. */
const uploadBytes = 64 * 1024;
/** Bytes that are written at once. */
const pieceBytes = 16 * 1024;

/** Whether a request has a long body, or one that comes as a stream without a length. */
export function isUpload({ body, headers }: WireRequest): boolean {
  if (body === null || body === undefined) return false;
  const length = typeof body === 'string' || ArrayBuffer.isView(body) ? body.length : Number(headers['content-length']);
  return !(length < uploadBytes);
}

/**
 * The request with a body that undici writes piece by piece, as the server takes it. Node counts what it has queued for a session,
 * and refuses every response on it from 10 MB on (`maxSessionMemory`); a text or a buffer would be queued as a whole.
 */
export function inPieces(request: WireRequest): WireRequest {
  const { headers } = request;
  const body = typeof request.body === 'string' ? Buffer.from(request.body) : request.body;
  if (ArrayBuffer.isView(body)) {
    const length = String(body.byteLength);
    // undici refuses a wrong length.
    if ((headers['content-length'] ?? length) !== length) return request;
    return { ...request, headers: { ...headers, 'content-length': length }, body: asBody(pieces([body])) };
  }
  if (typeof body === 'object' && body !== null && Symbol.asyncIterator in body)
    return { ...request, body: asBody(pieces(body as unknown as AsyncIterable<Uint8Array>)) }; // of `ReplayableBody`
  return request;
}

async function* pieces(chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks)
    for (let i = 0; i < chunk.byteLength; i += pieceBytes) yield chunk.subarray(i, i + pieceBytes);
}

function asBody(iterable: AsyncIterable<Uint8Array>): NonNullable<WireRequest['body']> {
  return iterable as unknown as NonNullable<WireRequest['body']>; // undici takes any async iterable; its types name only some of them
}
