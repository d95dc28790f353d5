/** The events of a reflector, and how they are read from a server's lists and watches. */
import type { Kind } from '../../rest/api/api-server.ts';
import { MalformedResponse, parseJson } from '../../rest/api/api-status.ts';
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import { isString } from '../../util/guards.ts';

/**
 * `Init` begins a list and `InitApply` has its objects; after `InitDone`, objects that were not listed are gone. `Apply` is a new or
 * changed object, `Delete` the last known state of a deleted one.
 */
export type ReflectorEvent<T extends KubernetesObject = KubernetesObject> =
  | { readonly type: 'Init' }
  | { readonly type: 'InitDone' }
  | { readonly type: 'InitApply' | 'Apply' | 'Delete'; readonly object: T };

/** A line of a watch. */
type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubernetesObject }
  | { readonly type: 'BOOKMARK'; readonly version: string; readonly endsInitialEvents: boolean }
  | { readonly type: 'ERROR'; readonly status: unknown };

export interface Reading extends Kind {
  readonly metadataOnly?: boolean | undefined;
}

/** The form to ask for: of a list, or of an object of a watch. */
export function acceptOf(
  { metadataOnly }: Reading,
  form: 'PartialObjectMetadataList' | 'PartialObjectMetadata',
): string {
  return `application/json${metadataOnly ? `;as=${form};g=meta.k8s.io;v=v1` : ''}`;
}

/**
 * Reads an object of a list or a watch, without `metadata.managedFields`, which is a third of many objects. Items of a list have
 * neither apiVersion nor kind, and metadata alone has those of PartialObjectMetadata.
 * @throws {MalformedResponse}
 */
export function readObject(value: unknown, { apiVersion, kind, metadataOnly }: Reading): KubernetesObject {
  const object = value as Record<string, unknown> | null; // looked at here, and then trusted
  const metadata = object?.metadata as Record<string, unknown> | null | undefined; // the same
  if (typeof metadata?.name !== 'string') throw new MalformedResponse('an object in it has no metadata.name');
  if (object && metadata.managedFields !== undefined) {
    const { managedFields: _, ...rest } = metadata;
    object.metadata = rest;
  }
  // A new object: a server that sends more than was asked for does not fill the cache.
  if (object && metadataOnly) return { apiVersion, kind, metadata: object.metadata } as KubernetesObject; // as below
  if (object && object.kind === undefined) {
    object.apiVersion = apiVersion;
    object.kind = kind;
  }
  return object as unknown as KubernetesObject; // a name is all that is needed here; the rest is the API server's promise
}

/** @throws {MalformedResponse} */
export function readWatchEvent(line: string, reading: Reading): WatchEvent {
  const { type, object } = Object(parseJson(line, 'an event in it is not JSON'));
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: readObject(object, reading) };
    case 'BOOKMARK': {
      const { resourceVersion, annotations } = Object(Object(object).metadata);
      // An empty version does not count: a watch from there would miss deletions.
      if (typeof resourceVersion !== 'string' || resourceVersion === '')
        throw new MalformedResponse('a bookmark in it has no resourceVersion');
      return { type, version: resourceVersion, endsInitialEvents: Object(annotations)[initialEventsEnd] === 'true' };
    }
    case 'ERROR':
      return { type, status: object };
    default:
      throw new MalformedResponse('an event in it has an unknown type');
  }
}

const initialEventsEnd = 'k8s.io/initial-events-end';

/** Whether a version can be compared with others. */
export const isVersion = (value: unknown): boolean => isString(value) && /^\d+$/.test(value);

/** Whether a version is older than another. The versions of one server are numbers that grow. */
export function isOlder(version: string, than: string): boolean {
  if (!isVersion(version) || !isVersion(than)) return false;
  return version.length === than.length ? version < than : version.length < than.length;
}
