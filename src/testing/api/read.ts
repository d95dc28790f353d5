/** Get and list: which version is read, which objects are selected, and pages that go on where the last one ended. */

import { apiVersionOf, type ResourceType, storageKeyOf } from './built-in-types.ts';
import type { JsonObject } from './json.ts';
import { type KubernetesObject, keyOf, present, type StoredObject } from './objects.ts';
import { fieldSelector, type ListOptions, versionOf } from './query.ts';
import { badRequest, expired, notFound, tooLargeVersion } from './status.ts';
import type { Store } from './store.ts';

/** Which objects a request is about. */
export interface Scope {
  /** Keys begin with it. */
  readonly prefix: string;
  readonly selects: (key: string, object: StoredObject) => boolean;
  /** It can be one object only. */
  readonly single: boolean;
}

/** Where a list continues. */
interface Continuation {
  /** The version of the first page. */
  readonly version: number;
  /** The first key that is wanted, without the list's prefix. */
  readonly start: string;
}

export function scopeOf(type: ResourceType, namespace: string | undefined, options: ListOptions): Scope {
  const fields = fieldSelector(options.fields, type);
  return {
    prefix: namespace === undefined ? '' : `${namespace}/`,
    selects: (_key, object) => fields.matches(object) && options.labels(object),
    single: fields.name !== undefined && (!type.namespaced || (namespace ?? fields.namespace) !== undefined),
  };
}

/** One object, in its newest version. Throws a 404. */
export function getObject(
  store: Store,
  type: ResourceType,
  namespace: string | undefined,
  name: string,
): KubernetesObject {
  const object = store.collection(storageKeyOf(type)).get(keyOf(namespace, name));
  if (!object) throw notFound(type, name);
  return present(type, object);
}

/** A page of a list. Throws a 410 if its version is no longer kept. */
export function listObjects(
  store: Store,
  type: ResourceType,
  namespace: string | undefined,
  options: ListOptions,
): JsonObject {
  const scope = scopeOf(type, namespace, options);
  const { version, start } = whereToRead(store, type, scope, options);
  const limit = options.resourceVersion === '0' ? 0 : options.limit;
  const { keys, get } = store.collection(storageKeyOf(type)).at(version);
  const items: JsonObject[] = [];
  let [index, end] = [firstIndex(keys, scope.prefix + start), keys.length];
  if (scope.prefix !== '') end = firstIndex(keys, `${scope.prefix.slice(0, -1)}0`); // the character after /
  let last = '';
  for (; index < end && (limit <= 0 || items.length < limit); index++) {
    const key = keys[index] ?? '';
    const object = get(key);
    if (!object || !scope.selects(key, object)) continue;
    items.push(type.custom ? present(type, object) : object);
    last = key;
  }
  const more = limit > 0 && index < end;
  const token = more ? encodeContinuation({ version, start: `${last.slice(scope.prefix.length)}\0` }) : undefined;
  return {
    kind: type.listKind,
    apiVersion: apiVersionOf(type),
    metadata: {
      resourceVersion: String(version),
      ...(token === undefined ? {} : { continue: token }),
    },
    items,
  };
}

/** The version that a list shows, and where it begins: https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list */
function whereToRead(store: Store, type: ResourceType, scope: Scope, options: ListOptions): Continuation {
  const { oldest } = store.collection(storageKeyOf(type));
  if (options.continue !== '') {
    if (options.resourceVersion !== '' && options.resourceVersion !== '0') {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    const asked = decodeContinuation(options.continue);
    if (asked.version < oldest) throw expired('The provided continue parameter is too old: start the list again.');
    return checkedAgainst(store, asked);
  }
  const asked = versionOf(options.resourceVersion) ?? 0;
  const { resourceVersionMatch: match, limit } = options;
  const exact = match === 'Exact' || (match === '' && limit > 0 && !scope.single);
  if (exact && asked > 0) {
    if (asked < oldest) throw expired('The resourceVersion for the provided list is too old.');
    return checkedAgainst(store, { version: asked, start: '' });
  }
  checkedAgainst(store, { version: asked, start: '' });
  return { version: store.version, start: '' };
}

function checkedAgainst(store: Store, asked: Continuation): Continuation {
  if (asked.version > store.version) throw tooLargeVersion(asked.version, store.version);
  return asked;
}

function encodeContinuation({ version, start }: Continuation): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: version, start })).toString('base64url');
}

function decodeContinuation(token: string): Continuation {
  let content: unknown;
  try {
    content = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
  } catch {
    // Checked below, with what is JSON and no token.
  }
  const { v, rv, start } = Object(content); // any value: each field is checked
  if (v !== 'meta.k8s.io/v1' || typeof rv !== 'number' || rv <= 0 || typeof start !== 'string' || start === '') {
    throw badRequest('continue key is not valid');
  }
  return { version: rv, start };
}

/** The index of the first key that is not before the given one. */
function firstIndex(keys: readonly string[], key: string): number {
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
