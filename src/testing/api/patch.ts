/** PUT and PATCH: which kind of patch a content type names, and what each makes of an object. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { flagOf, type ObjectCall, parseBody, parseJson, parseYaml } from './http.ts';
import { isList, isObject, type Json, type JsonObject, withoutNulls } from './json.ts';
import { known, readObject } from './kinds.ts';
import { applyTo, type Writer } from './managed-fields.ts';
import { type GivenObject, present, type StoredObject } from './objects.ts';
import {
  ApiError,
  badRequest,
  cause,
  invalid,
  methodNotAllowed,
  notFound,
  notImplemented,
  unsupportedMediaType,
} from './status.ts';
import { checkName } from './write.ts';

const operations = z.array(z.record(z.string(), z.unknown()).nullable());

/** Kubernetes does not say why an operation does not fit the object. */
const notApplicable = () => new ApiError(422, 'the server rejected our request due to an error in our request', {});

/**
 * RFC 6902, as lenient as Kubernetes: negative indices count from the end, `replace` creates a missing field, and a missing field
 * equals `null`. Throws a 400 for an invalid patch, a 422 for one that does not apply.
 */
export function jsonPatch(object: JsonObject, patch: Json): Json {
  const parsed = operations.safeParse(patch);
  if (!parsed.success) throw badRequest(`the JSON patch is not a list of operations: ${z.prettifyError(parsed.error)}`);
  return parsed.data.reduce((document: Json, operation) => applyOperation(document, operation ?? {}), object);
}

function applyOperation(document: Json, operation: Readonly<Record<string, unknown>>): Json {
  const value = (operation.value ?? null) as Json; // it came as JSON
  const path = tokensOf(operation.path);
  switch (operation.op) {
    case 'add':
      return edit(document, path, 'add', value);
    case 'remove':
      return edit(document, path, 'remove');
    case 'replace':
      if (path.length > 0) return edit(document, path, 'replace', value);
      if (typeof value !== 'object' || value === null) throw notApplicable();
      return value;
    case 'move': {
      const from = tokensOf(operation.from);
      return edit(edit(document, from, 'remove'), path, 'add', read(document, from));
    }
    case 'copy':
      return edit(document, path, 'add', read(document, tokensOf(operation.from)));
    case 'test':
      if (isDeepStrictEqual(path.length > 0 ? read(document, path) : document, value)) return document;
      throw notApplicable();
    default:
      throw notApplicable();
  }
}

/** The parts of a JSON pointer (RFC 6901). */
function tokensOf(pointer: unknown): readonly string[] {
  if (typeof pointer !== 'string') throw notApplicable();
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

type Change = 'add' | 'remove' | 'replace';

/** The document with a change of what a pointer names; `value` is the new one. */
function edit(document: Json, [token, ...rest]: readonly string[], change: Change, value: Json = null): Json {
  if (token === undefined || !(isList(document) || isObject(document))) throw notApplicable();
  if (rest.length > 0) {
    const inner = edit(child(document, token), rest, change, value);
    return edit(document, [token], 'replace', inner);
  }
  if (isList(document)) {
    const index =
      change === 'add' && token === '-' ? document.length : indexIn(document, token, change === 'add' ? 1 : 0);
    return document.toSpliced(index, change === 'add' ? 0 : 1, ...(change === 'remove' ? [] : [value]));
  }
  if (change === 'remove' && !Object.hasOwn(document, token)) throw notApplicable();
  const fields = new Map(Object.entries(document));
  if (change === 'remove') fields.delete(token);
  else fields.set(token, value);
  // A field may be called `__proto__`.
  return Object.fromEntries(fields);
}

/** What a pointer names; `null` for a field that the last object lacks. */
function read(document: Json, tokens: readonly string[]): Json {
  if (tokens.length === 0) throw notApplicable();
  return tokens.reduce((value: Json, token) => {
    if (!isList(value) && !isObject(value)) throw notApplicable();
    return child(value, token);
  }, document);
}

function child(container: JsonObject | readonly Json[], token: string): Json {
  if (isList(container)) return container[indexIn(container, token)] ?? null;
  return (Object.hasOwn(container, token) ? container[token] : null) ?? null;
}

/** The index that a token names in a list, with `more` places after its elements. */
function indexIn(list: readonly Json[], token: string, more = 0): number {
  const index = /^[+-]?\d+$/.test(token) ? Number(token) : Number.NaN;
  const counted = index < 0 ? index + list.length + more : index;
  if (!(counted >= 0 && counted < list.length + more)) throw notApplicable();
  return counted;
}

/** RFC 7396. Throws a 400 if it is not an object. */
export function mergePatch(object: JsonObject, patch: Json): JsonObject {
  if (!isObject(patch)) throw badRequest('Invalid JSON Patch');
  return merge(object, patch);
}

function merge(object: JsonObject, patch: JsonObject): JsonObject {
  const merged = new Map(Object.entries(object));
  for (const [field, value] of Object.entries(patch)) {
    const there = merged.get(field);
    if (value === null || value === undefined) merged.delete(field);
    // What is new has nothing that a `null` could take away.
    else if (!isObject(there)) merged.set(field, withoutNulls(value));
    else merged.set(field, isObject(value) ? merge(there, value) : value);
  }
  return Object.fromEntries(merged);
}

function needsSchema(value: Json | undefined): boolean {
  if (isList(value)) return true;
  return isObject(value) && Object.entries(value).some(([field, inner]) => field.startsWith('$') || needsSchema(inner));
}

const jsonType = 'application/json-patch+json';
const mergeType = 'application/merge-patch+json';
const strategicType = 'application/strategic-merge-patch+json';
const applyType = 'application/apply-patch+yaml';

/** What a server-side apply applies; `undefined` for another write. Throws a 400, 405, 415 or 422. */
export function appliedBy(call: ObjectCall): JsonObject | undefined {
  const { method, type, name, mediaType, query, body } = call;
  if (method === 'PUT') return undefined;
  if (method !== 'PATCH') throw methodNotAllowed();
  const accepted = [jsonType, mergeType, ...(type.custom ? [] : [strategicType]), applyType];
  if (!accepted.includes(mediaType)) throw unsupportedMediaType(accepted);
  if (mediaType !== applyType) return undefined;
  if (!query.get('fieldManager')) {
    const problem = cause.required('fieldManager', 'is required for apply patch');
    throw invalid({ group: 'meta.k8s.io', kind: 'PatchOptions' }, '', [problem]);
  }
  const given = known(call, parseYaml(body));
  const content = isObject(given) ? given : {};
  const metadata = isObject(content.metadata) ? content.metadata : {};
  const { apiVersion = '', kind = '' } = content;
  if (!apiVersion || !kind) throw badRequest(`invalid object type: ${String(apiVersion)}, Kind=${String(kind)}`);
  if (isList(metadata.managedFields)) throw badRequest('metadata.managedFields must be nil');
  const applied = { ...content, metadata: { name, ...metadata } };
  return type.custom ? applied : withoutNulls(applied);
}

/** What a PUT or a PATCH makes of an object. Throws a 404 if there is none, and it may not create one; a 400, 409, 422 or 501. */
export function writtenBy(call: ObjectCall, before: StoredObject | undefined, writer: Writer): GivenObject {
  const { method, type, name, query, mediaType, body } = call;
  const { applied, subresource } = writer;
  const whole = method === 'PUT' ? known(call, parseBody(call)) : applied;
  const given = whole === undefined ? undefined : readObject(type, whole);
  if (given) checkName(call, given.metadata);
  if (!before) {
    if (!given || subresource || !(applied || type.createOnUpdate)) throw notFound(type, name);
    return given;
  }
  if (applied) {
    const object = applyTo(type, before, { ...writer, applied }, flagOf(query, 'force') ?? false);
    return readObject(type, { ...object, apiVersion: applied.apiVersion, kind: applied.kind });
  }
  if (given) return given;
  const object = present(type, before);
  const patch = known(call, parseJson(body));
  if (mediaType === jsonType) return readObject(type, jsonPatch(object, patch));
  if (mediaType === strategicType && isObject(patch) && needsSchema(patch)) {
    throw notImplemented(
      'lists and $-directives in a strategic merge patch, as it knows no schemas: send a JSON patch or a merge patch',
    );
  }
  return readObject(type, mergePatch(object, patch));
}
