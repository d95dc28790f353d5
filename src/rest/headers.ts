import type { Dispatcher } from 'undici';

export type RequestHeaders = Dispatcher.DispatchOptions['headers'];
type Pairs = readonly (readonly [string, string | number | readonly string[] | undefined])[];

/** Reads headers in every form that undici takes: an object, a flat list, a Map, `Headers`. */
function toPairs(headers: NonNullable<RequestHeaders>): Pairs {
  if (Array.isArray(headers)) {
    const flat: readonly string[] = headers;
    const pairs: [string, string][] = [];
    for (let i = 0; i + 1 < flat.length; i += 2) pairs.push([String(flat[i]), String(flat[i + 1])]);
    return pairs;
  }
  if (isIterable(headers)) return [...headers];
  return Object.entries(headers);
}

function isIterable(headers: object): headers is Iterable<[string, string | string[] | undefined]> {
  return Symbol.iterator in headers;
}

/** A request with its own `Authorization`, in any case and any form of headers, passes untouched. */
export function hasAuthorization(headers: RequestHeaders): boolean {
  if (!headers) return false;
  return toPairs(headers).some(
    ([name, value]) =>
      name.length === 13 && name.toLowerCase() === 'authorization' && value !== undefined && value !== '',
  );
}

/**
 * The headers with ours set, whatever stood there under the same (lower case) names. A caller's `Host` is left out: undici
 * would take it for the server's name, and reconnect.
 */
export function withHeaders(
  headers: RequestHeaders,
  ours: Readonly<Record<string, string>>,
): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of headers ? toPairs(headers) : []) {
    const lowered = name.toLowerCase();
    if (value === undefined || lowered === 'host' || Object.hasOwn(ours, lowered)) continue;
    const before = result[name];
    const values = [...(before === undefined ? [] : [before].flat()), ...[value].flat().map(String)];
    result[name] = values.length === 1 ? values.join() : values;
  }
  return Object.assign(result, ours);
}
