import type { Dispatcher } from 'undici';

export type RequestHeaders = Dispatcher.DispatchOptions['headers'];
export type HeaderRecord = Record<string, string | string[]>;

/** Whether a header (its name in lower case) has a value, in any case and any form of headers. */
export function hasHeader(headers: RequestHeaders, wanted: string): boolean {
  return Boolean(readHeaders(headers)[wanted]);
}

/**
 * The headers by their names in lower case, each once. One bad header would end an HTTP/2 connection with everybody's requests on it,
 * so hop-by-hop headers are removed, and a caller's `Host`, which undici would take for the server's name.
 */
export function readHeaders(headers: RequestHeaders): HeaderRecord {
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
