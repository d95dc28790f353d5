/** The options in a URL's query: of lists, watches and writes. Unknown ones are ignored, as in Kubernetes. */

import { type FieldTerm, type Matches, parseFieldTerms, parseLabelSelector } from './selectors.ts';
import { badRequest, notImplemented } from './status.ts';

export interface ListOptions {
  readonly watch: boolean;
  readonly labels: Matches;
  readonly fields: readonly FieldTerm[];
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly limit: number;
  readonly continue: string;
  readonly timeoutSeconds: number | undefined;
  readonly allowWatchBookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
}

export const flagOf = (query: URLSearchParams, name: string) => {
  const value = query.get(name);
  return value === null ? undefined : value !== '0' && value.toLowerCase() !== 'false';
};

/** A number of the query. Throws a 400. */
export function numberOf(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === '') return undefined;
  if (!/^[+-]?\d+$/.test(value)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  return Number(value);
}

/** A version as a number; `undefined` if none is given. Throws a 400 for an invalid version. */
export function versionOf(text: string): number | undefined {
  if (text === '') return undefined;
  if (/^\d{1,20}$/.test(text)) return Number(text);
  const given = JSON.stringify(text);
  throw badRequest(`resourceVersion: Invalid value: ${given}: strconv.ParseUint: parsing ${given}: invalid syntax`);
}

/** The options of a list or a watch. Throws a 400 for what cannot be read. */
export function listOptionsOf(query: URLSearchParams): ListOptions {
  return {
    watch: flagOf(query, 'watch') ?? false,
    labels: parseLabelSelector(query.get('labelSelector') ?? ''),
    fields: parseFieldTerms(query.get('fieldSelector') ?? ''),
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    limit: numberOf(query, 'limit') ?? 0,
    continue: query.get('continue') ?? '',
    timeoutSeconds: numberOf(query, 'timeoutSeconds'),
    allowWatchBookmarks: flagOf(query, 'allowWatchBookmarks') ?? false,
    sendInitialEvents: flagOf(query, 'sendInitialEvents'),
  };
}

/** Throws a 501 for the options of a write that are not done. */
export function checkWriteOptions(query: URLSearchParams): void {
  if (query.has('dryRun')) throw notImplemented('dryRun');
}
