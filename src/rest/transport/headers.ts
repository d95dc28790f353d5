import type { Dispatcher } from 'undici';

export type RequestHeaders = Dispatcher.DispatchOptions['headers'];
type HeaderRecord = Record<string, string | string[]>;

/** Whether a header (its name in lower case) has a value, in any case and any form of headers. */
export function hasHeader(headers: RequestHeaders, wanted: string): boolean {
  if (!headers) return false;
  const record = toRecord(headers);
  for (const name in record) if (isNamed(name, wanted) && record[name]) return true;
  return false;
}

/**
 * The headers with ours (lower case names) set, whatever stood there, and each name once. One bad header would end an HTTP/2
 * connection with everybody's requests on it, so those that belong to a single hop are left out, as is a caller's `Host`,
 * which undici would take for the server's name.
 */
export function withHeaders(
  headers: RequestHeaders,
  ours: Readonly<Record<string, string | readonly string[]>>,
): HeaderRecord {
  const result: HeaderRecord = {};
  const given = headers ? toRecord(headers) : {};
  for (const name in given) {
    const lowered = name.toLowerCase();
    const value = given[name];
    if (value === undefined || singleHop.has(lowered) || (lowered === 'te' && value !== 'trailers')) continue;
    // A later value of a header that may stand once wins, as it does in an object.
    result[lowered] = Array.isArray(value) && onlyOnce.has(lowered) ? (value.at(-1) ?? '') : value;
  }
  return Object.assign(result, ours);
}

const singleHop: ReadonlySet<string> = new Set([
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

function isNamed(name: string, lowered: string): boolean {
  return name.length === lowered.length && name.toLowerCase() === lowered;
}

/** Reads headers in every form that undici takes: an object, a flat list, a Map, `Headers`. */
function toRecord(headers: NonNullable<RequestHeaders>): HeaderRecord {
  if (!Array.isArray(headers) && !(Symbol.iterator in headers)) {
    return headers as HeaderRecord; // undefined values are passed over by undici
  }
  const record: HeaderRecord = {};
  for (const [name, value] of Array.isArray(headers) ? pairsOf(headers) : headers) {
    if (value === undefined) continue;
    const values = Array.isArray(value) ? value.map(String) : [String(value)];
    const before = Object.hasOwn(record, name) ? record[name] : undefined;
    const all = before === undefined ? values : [before].flat().concat(values);
    // Defined, not assigned: a name like __proto__ is plain data.
    const property = {
      value: all.length === 1 ? all.join() : all,
      enumerable: true,
      configurable: true,
      writable: true,
    };
    Object.defineProperty(record, name, property);
  }
  return record;
}

function pairsOf(flat: readonly unknown[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) pairs.push([String(flat[i]), String(flat[i + 1])]);
  return pairs;
}
