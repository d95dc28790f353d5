/** A PATCH: which kind of patch its content type says, and what it makes of an object. */

import { parseJson, parseYaml } from './http.ts';
import { isList, isObject, type Json } from './json.ts';
import { readObject } from './metadata.ts';
import { type GivenObject, present, type StoredObject } from './objects.ts';
import { jsonPatch, mergePatch, strategicMergePatch } from './patch.ts';
import type { ResourceType } from './resource-type.ts';
import { ApiError, badRequest, cause, invalid, notFound, notImplemented, unsupportedMediaType } from './status.ts';

const jsonType = 'application/json-patch+json';
const mergeType = 'application/merge-patch+json';
const strategicType = 'application/strategic-merge-patch+json';
const applyType = 'application/apply-patch+yaml';

export interface Patch {
  readonly mediaType: string;
  /** Throws a 400 for what is no JSON, or no YAML. */
  readonly content: () => Json;
  /** It makes what is not there. */
  readonly apply: boolean;
}

/** Reads a patch. Throws a 400, 415 or 422 for what is none. */
export function readPatch({ custom }: ResourceType, mediaType: string, body: Buffer, fieldManager: string): Patch {
  const accepted = custom ? [jsonType, mergeType, applyType] : [jsonType, mergeType, strategicType, applyType];
  if (!accepted.includes(mediaType)) throw unsupportedMediaType(accepted);
  const apply = mediaType === applyType;
  if (apply && fieldManager === '') {
    const problem = cause.required('fieldManager', 'is required for apply patch');
    throw invalid({ group: 'meta.k8s.io', kind: 'PatchOptions' }, '', [problem]);
  }
  return { mediaType, content: () => (apply ? parseYaml(body) : parseJson(body)), apply };
}

/** The object that a patch makes. Throws a 400, 404, 422 or 501. */
export function patched(type: ResourceType, name: string, patch: Patch, before: StoredObject | undefined): GivenObject {
  if (!before) {
    if (!patch.apply) throw notFound(type, name);
    const given = patch.content();
    const content = isObject(given) ? given : {};
    const metadata = isObject(content.metadata) ? content.metadata : {};
    const { apiVersion = '', kind = '' } = content;
    if (!apiVersion || !kind) throw badRequest(`invalid object type: ${String(apiVersion)}, Kind=${String(kind)}`);
    if (isList(metadata.managedFields)) throw badRequest('metadata.managedFields must be nil');
    return readObject(type, { ...content, metadata: { name, ...metadata } });
  }
  const object = present(type, before);
  switch (patch.mediaType) {
    case jsonType:
      return readPatched(type, jsonPatch(object, patch.content()));
    case mergeType:
      return readPatched(type, mergePatch(object, patch.content()));
    case strategicType:
      return readPatched(type, strategicMergePatch(object, patch.content()));
    default:
      throw notImplemented(
        'server-side apply to an object that is there, because it does not track who owns which field',
      );
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
