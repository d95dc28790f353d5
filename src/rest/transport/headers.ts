import type { Dispatcher } from 'undici';

export type RequestHeaders = Dispatcher.DispatchOptions['headers'];
type HeaderRecord = Record<string, string | string[]>;

/** Whether a header (its name in lower case) has a value, in any case and any form of headers. */
export function hasHeader(headers: RequestHeaders, wanted: string): boolean {
  const list = flat(headers);
  for (let i = 0; i + 1 < list.length; i += 2) {
    const name = String(list[i]);
    if (name.length === wanted.length && name.toLowerCase() === wanted && list[i + 1]) return true;
  }
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
  // Without a prototype, a name like __proto__ is plain data.
  const result: HeaderRecord = Object.create(null);
  const list = flat(headers);
  for (let i = 0; i + 1 < list.length; i += 2) {
    const [name, value] = [String(list[i]).toLowerCase(), list[i + 1]];
    if (value === undefined || hopByHop.has(name) || (name === 'te' && value !== 'trailers')) continue;
    const before = result[name];
    if (before === undefined && typeof value === 'string') result[name] = value;
    else {
      const all = [before ?? [], value].flat().map(String);
      // Of a header that may be given once, the last value wins, as in an object.
      result[name] = all.length === 1 || onlyOnce.has(name) ? (all.at(-1) ?? '') : all;
    }
  }
  return Object.assign(result, ours);
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

/** Names and values in turn, of headers in every form that undici takes: an object, a flat list, a Map, `Headers`. */
function flat(headers: RequestHeaders): readonly unknown[] {
  if (Array.isArray(headers)) return headers;
  const list: unknown[] = [];
  if (headers && Symbol.iterator in headers) for (const [name, value] of headers) list.push(name, value);
  else if (headers) for (const name of Object.keys(headers)) list.push(name, headers[name]);
  return list;
}
