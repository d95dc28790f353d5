/** PATCH: which kind of patch a content type names, and what it makes of an object. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { ResourceType } from './built-in-types.ts';
import { isList, isObject, type Json, type JsonObject, withoutNulls } from './json.ts';
import { applyTo, type Writer } from './managed-fields.ts';
import { readObject } from './metadata.ts';
import { type GivenObject, present, type StoredObject } from './objects.ts';
import { ApiError, badRequest, cause, invalid, notImplemented, unsupportedMediaType } from './status.ts';

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

/** A strategic merge patch is a merge patch but for lists and directives, which the kind's schema explains. Throws a 400 or 501. */
function strategicMergePatch(object: JsonObject, patch: Json): JsonObject {
  if (isObject(patch) && needsSchema(patch)) {
    throw notImplemented(
      'lists and $-directives in a strategic merge patch, as it knows no schemas: send a JSON patch or a merge patch',
    );
  }
  return mergePatch(object, patch);
}

function needsSchema(value: Json | undefined): boolean {
  if (isList(value)) return true;
  return isObject(value) && Object.entries(value).some(([field, inner]) => field.startsWith('$') || needsSchema(inner));
}

const jsonType = 'application/json-patch+json';
const mergeType = 'application/merge-patch+json';
const strategicType = 'application/strategic-merge-patch+json';
const applyType = 'application/apply-patch+yaml';

/** Whether it is a server-side apply. Throws a 415 or 422 if it is invalid. */
export function isApply({ custom }: ResourceType, mediaType: string, query: URLSearchParams): boolean {
  const accepted = custom ? [jsonType, mergeType, applyType] : [jsonType, mergeType, strategicType, applyType];
  if (!accepted.includes(mediaType)) throw unsupportedMediaType(accepted);
  if (mediaType !== applyType) return false;
  if (query.get('fieldManager')) return true;
  const problem = cause.required('fieldManager', 'is required for apply patch');
  throw invalid({ group: 'meta.k8s.io', kind: 'PatchOptions' }, '', [problem]);
}

/** What a server-side apply applies. Throws a 400. */
export function readApplied(type: ResourceType, name: string, given: Json): JsonObject {
  const content = isObject(given) ? given : {};
  const metadata = isObject(content.metadata) ? content.metadata : {};
  const { apiVersion = '', kind = '' } = content;
  if (!apiVersion || !kind) throw badRequest(`invalid object type: ${String(apiVersion)}, Kind=${String(kind)}`);
  if (isList(metadata.managedFields)) throw badRequest('metadata.managedFields must be nil');
  const applied = { ...content, metadata: { name, ...metadata } };
  return type.custom ? applied : withoutNulls(applied);
}

/** The object that a server-side apply makes. Throws a 400, 409 or 422. */
export function withApplied(
  type: ResourceType,
  before: StoredObject,
  writer: Writer & { readonly applied: JsonObject },
  force: boolean,
): GivenObject {
  const { apiVersion, kind } = writer.applied;
  return readObject(type, { ...applyTo(type, before, writer, force), apiVersion, kind });
}

/** The object that another patch makes; `content` is what it says. Throws a 400, 409 or 422. */
export function patched(type: ResourceType, mediaType: string, content: Json, before: StoredObject): GivenObject {
  const object = present(type, before);
  switch (mediaType) {
    case jsonType:
      return readObject(type, jsonPatch(object, content));
    case mergeType:
      return readObject(type, mergePatch(object, content));
    default:
      return readObject(type, strategicMergePatch(object, content));
  }
}
