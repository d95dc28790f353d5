/** The options in a URL's query: of lists, watches and writes. Unknown ones are ignored, as in Kubernetes. */

import { type FieldTerm, type Matches, parseFieldTerms, parseLabelSelector } from './selectors.ts';
import { badRequest, type Cause, cause, invalid, notImplemented } from './status.ts';

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

export interface WriteOptions {
  readonly fieldManager: string;
  readonly force: boolean | undefined;
}

const flagOf = (query: URLSearchParams, name: string) => {
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

/** The options of a list or a watch. Throws a 400 or 422 where they do not go together. */
export function listOptionsOf(query: URLSearchParams): ListOptions {
  const options = {
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
  const causes = problemsOf(options);
  if (causes.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', causes);
  return options;
}

function problemsOf(options: ListOptions): readonly Cause[] {
  const { watch, resourceVersion, resourceVersionMatch: match, sendInitialEvents } = options;
  const field = 'resourceVersionMatch';
  const causes: Cause[] = [];
  const forbid = (isWrong: boolean, detail: string, at = field) => {
    if (isWrong) causes.push(cause.forbidden(at, detail));
  };
  const given = match !== '';
  const accepted = watch ? ['NotOlderThan'] : ['Exact', 'NotOlderThan', ''];
  if (given && !accepted.includes(match)) causes.push(cause.notSupported(field, match, accepted));
  forbid(given && options.continue !== '', `${field} is forbidden when continue is provided`);
  if (watch) {
    forbid(
      given && sendInitialEvents === undefined,
      `${field} is forbidden for watch unless sendInitialEvents is provided`,
    );
    forbid(
      sendInitialEvents !== undefined && match !== 'NotOlderThan',
      `sendInitialEvents requires setting ${field} to NotOlderThan`,
    );
  } else {
    forbid(given && resourceVersion === '', `${field} is forbidden unless resourceVersion is provided`);
    forbid(match === 'Exact' && resourceVersion === '0', `${field} "exact" is forbidden for resourceVersion "0"`);
    forbid(sendInitialEvents !== undefined, 'sendInitialEvents is forbidden for list', 'sendInitialEvents');
  }
  return causes;
}

/** The options of a write; `kind` is what a 422 about them calls them. Throws a 422 or 501. */
export function writeOptionsOf(
  query: URLSearchParams,
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
): WriteOptions {
  const validation = query.get('fieldValidation') ?? '';
  const causes: Cause[] = [];
  if (!['', 'Ignore', 'Warn', 'Strict'].includes(validation)) {
    causes.push(cause.notSupported('fieldValidation', validation, ['', 'Ignore', 'Strict', 'Warn']));
  }
  const fieldManager = query.get('fieldManager') ?? '';
  if (causes.length > 0) throw invalid({ group: 'meta.k8s.io', kind }, '', causes);
  if (query.has('dryRun')) throw notImplemented('dryRun');
  if (validation === 'Strict') throw notImplemented('fieldValidation=Strict, because it knows no schemas');
  return { fieldManager, force: flagOf(query, 'force') };
}
