/** Lists: which version is read, and pages that go on where the last one ended. */

import { z } from 'zod';
import type { ApiState } from './api-state.ts';
import { apiVersionOf, type ResourceType } from './built-in-types.ts';
import { type JsonObject, without } from './json.ts';
import { keyOf, present, type StoredObject } from './objects.ts';
import { type ListOptions, versionOf } from './query.ts';
import { badRequest, expired } from './status.ts';

/** Where a list continues. */
interface Continuation {
  /** The version of the first page. */
  readonly version: number;
  /** The first key that is wanted. */
  readonly start: string;
}

/** A page of a list. Throws a 410 if its version is no longer kept. */
export function listObjects(
  state: ApiState,
  type: ResourceType,
  options: ListOptions,
): JsonObject & { readonly items: readonly StoredObject[] } {
  const { namespace, selects } = options;
  const { version, start } = whereToRead(state, type, options);
  const limit = options.resourceVersion === '0' ? 0 : options.limit;
  const asked = state.collection(type).list(namespace, version, start);
  const items: StoredObject[] = [];
  let end = 0;
  for (; end < asked.length && (limit <= 0 || items.length < limit); end++) {
    const object = asked[end];
    if (object && selects(object)) items.push(type.custom ? present(type, object) : object);
  }
  const next = asked[end]?.metadata;
  return {
    kind: type.listKind,
    apiVersion: apiVersionOf(type),
    metadata: without({
      resourceVersion: String(version),
      continue: next && encodeContinuation({ version, start: keyOf(next.namespace, next.name) }),
    }),
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
  const asked = versionOf(options.resourceVersion) ?? 0;
  const { resourceVersionMatch: match, limit } = options;
  const exact = match === 'Exact' || (match === '' && limit > 0);
  if (exact && asked > 0) {
    if (asked < oldest) throw expired('The resourceVersion for the provided list is too old.');
    return { version: asked, start: '' };
  }
  return { version: state.version, start: '' };
}

const encodeContinuation = (continuation: Continuation) =>
  Buffer.from(JSON.stringify(continuation)).toString('base64url');

const continuationSchema = z.object({ version: z.int(), start: z.string() });

function decodeContinuation(token: string): Continuation {
  try {
    return continuationSchema.parse(JSON.parse(Buffer.from(token, 'base64url').toString('utf8')));
  } catch {
    throw badRequest('continue key is not valid');
  }
}
