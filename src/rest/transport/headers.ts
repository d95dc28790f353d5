import type { Dispatcher } from 'undici';

export type RequestHeaders = Dispatcher.DispatchOptions['headers'];
type HeaderRecord = Record<string, string | string[]>;

/** Whether a header (its name in lower case) has a value, in any case and any form of headers. */
export function hasHeader(headers: RequestHeaders, wanted: string): boolean {
  for (const [name, value] of entriesOf(headers))
    if (name.length === wanted.length && name.toLowerCase() === wanted && value) return true;
  return false;
}

/**
 * The headers with ours (lower case names) set, whatever stood there, and each name once. One bad header would end an HTTP/2
 * connection with everybody's requests on it, so hop-by-hop headers are removed, and a caller's `Host`,
 * which undici would take for the server's name.
 */
export function withHeaders(
  headers: RequestHeaders,
  ours: Readonly<Record<string, string | readonly string[]>>,
): HeaderRecord {
  const result = new Map<string, string | string[]>();
  for (const [given, value] of entriesOf(headers)) {
    const name = given.toLowerCase();
    if (value === undefined || hopByHop.has(name) || (name === 'te' && value !== 'trailers')) continue;
    const all = [result.get(name) ?? [], value].flat().map(String);
    // Of a header that may be given once, the last value wins, as in an object.
    result.set(name, all.length === 1 || onlyOnce.has(name) ? (all.at(-1) ?? '') : all);
  }
  // Object.fromEntries takes a name like __proto__ for plain data.
  return Object.assign(Object.fromEntries(result), ours);
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

/** The headers in every form that undici takes: an object, a flat list, a Map, `Headers`. */
function* entriesOf(headers: RequestHeaders): Generator<readonly [string, unknown]> {
  if (Array.isArray(headers))
    for (let i = 0; i + 1 < headers.length; i += 2) yield [String(headers[i]), headers[i + 1]];
  else if (headers && Symbol.iterator in headers) yield* headers;
  else if (headers) yield* Object.entries(headers);
}
