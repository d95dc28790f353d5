/** Lists: their options and selectors, which version is read, and pages that go on where the last one ended. */
import { z } from 'zod';
import type { ApiState } from './api-state.ts';
import { apiVersionOf, type ResourceType } from './built-in-types.ts';
import { flagOf } from './http.ts';
import { type JsonObject, valueAt } from './json.ts';
import { labelKeyProblem, labelValueProblem, present, type StoredObject } from './objects.ts';
import { badRequest, cause, expired, invalid } from './status.ts';

/** The query of a list or a watch. Unknown options are ignored, as in Kubernetes. */
export interface ListOptions {
  readonly watch: boolean;
  readonly namespace: string | undefined;
  /** Which objects are asked for, by their namespace, fields and labels. */
  readonly selects: Matches;
  readonly resourceVersion: number | undefined;
  readonly resourceVersionMatch: string;
  readonly limit: number;
  readonly continue: string;
  readonly timeoutSeconds: number | undefined;
  readonly allowWatchBookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
}

/** A number of the query. Throws a 400. */
function numberOf(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === '') return undefined;
  if (!/^[+-]?\d+$/.test(value)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  return Number(value);
}

/** A version as a number; `undefined` if none is given. Throws a 400 for an invalid version. */
function versionOf(text: string): number | undefined {
  if (text === '') return undefined;
  if (/^\d{1,20}$/.test(text)) return Number(text);
  const given = JSON.stringify(text);
  throw badRequest(`resourceVersion: Invalid value: ${given}: strconv.ParseUint: parsing ${given}: invalid syntax`);
}

/** The options of a list or a watch. Throws a 400 for what cannot be read, a 422 for a streaming list without its match. */
export function listOptionsOf(query: URLSearchParams, type: ResourceType, namespace: string | undefined): ListOptions {
  const hasLabels = parseLabelSelector(query.get('labelSelector') ?? '');
  const hasFields = parseFieldSelector(query.get('fieldSelector') ?? '', type);
  const isInside = ({ metadata }: StoredObject) => namespace === undefined || metadata.namespace === namespace;
  const resourceVersionMatch = query.get('resourceVersionMatch') ?? '';
  const sendInitialEvents = flagOf(query, 'sendInitialEvents');
  if (sendInitialEvents !== undefined && resourceVersionMatch !== 'NotOlderThan') {
    const problem = 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan';
    const causes = [cause.forbidden('resourceVersionMatch', problem)];
    throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', causes);
  }
  return {
    watch: flagOf(query, 'watch') ?? false,
    namespace,
    selects: (object) => isInside(object) && hasFields(object) && hasLabels(object),
    resourceVersion: versionOf(query.get('resourceVersion') ?? ''),
    resourceVersionMatch,
    limit: numberOf(query, 'limit') ?? 0,
    continue: query.get('continue') ?? '',
    timeoutSeconds: numberOf(query, 'timeoutSeconds'),
    allowWatchBookmarks: flagOf(query, 'allowWatchBookmarks') ?? false,
    sendInitialEvents,
  };
}

/** Where a list continues: the version of the first page, and the first key that is wanted. */
const continuation = z.object({ version: z.int(), start: z.string() });
type Continuation = z.output<typeof continuation>;

/** A page of a list. Throws a 410 if its version is no longer kept. */
export function listObjects(
  state: ApiState,
  type: ResourceType,
  options: ListOptions,
): JsonObject & { readonly items: readonly StoredObject[] } {
  const { namespace, selects } = options;
  const { version, start } = whereToRead(state, type, options);
  const limit = options.resourceVersion === 0 ? 0 : options.limit;
  // A page looks up its own objects only.
  const { keys, objects } = state.collection(type).at(version);
  const prefix = namespace === undefined ? '' : `${namespace}/`;
  const asked = keys.filter((key) => key.startsWith(prefix) && key >= start);
  const items: StoredObject[] = [];
  let end = 0;
  for (; end < asked.length && (limit <= 0 || items.length < limit); end++) {
    const object = objects.get(asked[end] ?? '');
    if (object && selects(object)) items.push(type.custom ? present(type, object) : object);
  }
  const next = asked[end];
  const rest = next === undefined ? undefined : { version, start: next };
  const token = rest && Buffer.from(JSON.stringify(rest)).toString('base64url');
  return {
    kind: type.listKind,
    apiVersion: apiVersionOf(type),
    metadata: { resourceVersion: String(version), continue: token },
    items,
  };
}

/** The version that a list shows, and where it begins: https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list */
function whereToRead(state: ApiState, type: ResourceType, options: ListOptions): Continuation {
  const { oldest } = state.collection(type);
  if (options.continue !== '') {
    const asked = decodeContinuation(options.continue);
    if (asked.version < oldest) throw expired('The provided continue parameter is too old: start the list again.');
    return asked;
  }
  const { resourceVersion: asked = 0, resourceVersionMatch: match, limit } = options;
  const exact = match === 'Exact' || (match === '' && limit > 0);
  if (exact && asked > 0) {
    if (asked < oldest) throw expired('The resourceVersion for the provided list is too old.');
    return { version: asked, start: '' };
  }
  return { version: state.version, start: '' };
}

function decodeContinuation(token: string): Continuation {
  try {
    return continuation.parse(JSON.parse(Buffer.from(token, 'base64url').toString('utf8')));
  } catch {
    throw badRequest('continue key is not valid');
  }
}

type Matches = (object: StoredObject) => boolean;
type Labels = Readonly<Record<string, string>>;
type Requirement = (labels: Labels) => boolean;

const word = '[^\\s=!,()<>]+';
const requirementPattern = new RegExp(
  `^\\s*(?:!\\s*(?<absent>${word})|(?<key>${word})` +
    `(?:\\s*(?<operator>==?|!=)\\s*(?<value>(?:${word})?)|\\s+(?<set>in|notin)\\s*\\((?<values>[^()]*)\\))?)\\s*$`,
);

/** Reads `a=b,c!=d,e in (f,g),h notin (i),j,!k`. Throws a 400 if it is something else. */
function parseLabelSelector(text: string): Matches {
  // Commas within parentheses separate values.
  const requirements = text.trim() === '' ? [] : text.split(/,(?![^(]*\))/).map(parseRequirement);
  return ({ metadata }) => requirements.every((holds) => holds(metadata.labels ?? {}));
}

function parseRequirement(text: string): Requirement {
  const { groups } = requirementPattern.exec(text) ?? {};
  const key = groups?.absent ?? groups?.key;
  if (!groups || key === undefined) throw badRequest(`unable to parse requirement: found '${text}'`);
  const { absent, operator, value = '', set, values = '' } = groups;
  const given = set === undefined ? [value] : values.split(',').map((one) => one.trim());
  const problem = [labelKeyProblem(key), ...given.map(labelValueProblem)].find((one) => one !== undefined);
  if (problem !== undefined) throw badRequest(`unable to parse requirement: Invalid value in '${text}': ${problem}`);
  const has = (labels: Labels) => Object.hasOwn(labels, key);
  if (absent !== undefined) return (labels) => !has(labels);
  if (operator === undefined && set === undefined) return has;
  const isIn = (labels: Labels) => has(labels) && given.includes(String(labels[key]));
  return operator === '!=' || set === 'notin' ? (labels) => !isIn(labels) : isIn;
}

/**
 * Reads `metadata.name=a,status.phase!=Running`. Throws a 400 if it is something else, or names a field that objects of the kind
 * cannot be selected by.
 */
function parseFieldSelector(text: string, type: ResourceType): Matches {
  const terms = text.split(',').filter((term) => term !== '');
  const conditions = terms.map((term) => {
    const [, label, operator, value] = /^(.*?)(!=|==|=)([^=]*)$/s.exec(term) ?? [];
    if (label === undefined || value === undefined) {
      throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    }
    if (!type.fields.includes(label)) throw badRequest(`field label not supported: ${label}`);
    return { path: label.split('.'), value, equal: operator !== '!=' };
  });
  return (object) =>
    conditions.every(({ path, value, equal }) => (String(valueAt(object, path) ?? '') === value) === equal);
}
