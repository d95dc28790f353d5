/** A PATCH: which kind of patch its content type says, and what it makes of an object. */

import { parseJson, parseYaml } from './http.ts';
import { isList, isObject, type Json, type JsonObject } from './json.ts';
import { applyTo, type Writer } from './managed-fields.ts';
import { readObject, withoutNulls } from './metadata.ts';
import { type GivenObject, present, type StoredObject } from './objects.ts';
import { jsonPatch, mergePatch, strategicMergePatch } from './patch.ts';
import { flagOf } from './query.ts';
import type { ResourceType } from './resource-type.ts';
import { ApiError, badRequest, cause, invalid, notFound, unsupportedMediaType } from './status.ts';

const jsonType = 'application/json-patch+json';
const mergeType = 'application/merge-patch+json';
const strategicType = 'application/strategic-merge-patch+json';
const applyType = 'application/apply-patch+yaml';

export interface Patch {
  readonly mediaType: string;
  /** Throws a 400 for what is no JSON, or no YAML. */
  readonly content: () => Json;
  /** A server-side apply: it makes what is not there. */
  readonly apply: boolean;
  /** It takes fields from other managers. */
  readonly force: boolean;
}

/** Reads a patch. Throws a 400, 415 or 422 for what is none. */
export function readPatch({ custom }: ResourceType, mediaType: string, body: Buffer, query: URLSearchParams): Patch {
  const accepted = custom ? [jsonType, mergeType, applyType] : [jsonType, mergeType, strategicType, applyType];
  if (!accepted.includes(mediaType)) throw unsupportedMediaType(accepted);
  const apply = mediaType === applyType;
  if (apply && !query.get('fieldManager')) {
    const problem = cause.required('fieldManager', 'is required for apply patch');
    throw invalid({ group: 'meta.k8s.io', kind: 'PatchOptions' }, '', [problem]);
  }
  return {
    mediaType,
    content: () => (apply ? parseYaml(body) : parseJson(body)),
    apply,
    force: flagOf(query, 'force') ?? false,
  };
}

/** What a server-side apply applies. Throws a 400. */
export function readApplied(type: ResourceType, name: string, patch: Patch): JsonObject {
  const given = patch.content();
  const content = isObject(given) ? given : {};
  const metadata = isObject(content.metadata) ? content.metadata : {};
  const { apiVersion = '', kind = '' } = content;
  if (!apiVersion || !kind) throw badRequest(`invalid object type: ${String(apiVersion)}, Kind=${String(kind)}`);
  if (isList(metadata.managedFields)) throw badRequest('metadata.managedFields must be nil');
  const applied = { ...content, metadata: { name, ...metadata } };
  return type.custom ? applied : withoutNulls(applied);
}

/** The object that a patch makes. Throws a 400, 404, 409 or 422. */
export function patched(
  type: ResourceType,
  name: string,
  patch: Patch,
  before: StoredObject | undefined,
  { applied, ...writer }: Writer,
): GivenObject {
  if (applied) {
    const given = readObject(type, applied);
    if (!before) return given;
    const { apiVersion, kind } = applied;
    return readObject(type, { ...applyTo(type, before, { ...writer, applied }, patch.force), apiVersion, kind });
  }
  if (!before) throw notFound(type, name);
  const object = present(type, before);
  switch (patch.mediaType) {
    case jsonType:
      return readPatched(type, jsonPatch(object, patch.content()));
    case mergeType:
      return readPatched(type, mergePatch(object, patch.content()));
    default:
      return readPatched(type, strategicMergePatch(object, patch.content()));
  }
}

/** What a patch has made is invalid, where the same in a PUT is a bad request. */
function readPatched(type: ResourceType, object: Json): GivenObject {
  try {
    return readObject(type, object);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 400) throw error;
    throw invalid({ group: '', kind: '' }, '', [cause.invalid('patch', JSON.stringify(object), error.message)]);
  }
}
