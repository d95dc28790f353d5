/** What a reflector tells, and how it is made of what a server says. */
import type { KubernetesObject } from '../kubernetes-object.ts';
import { MalformedResponse, parseBounded } from './malformed.ts';

/**
 * `Init` opens a list, `InitApply` are its objects, and after `InitDone` what was not among them is gone. `Apply` is an object
 * that is new or has changed, `Delete` one that is gone, as it was last.
 */
export type ReflectorEvent<T extends KubernetesObject = KubernetesObject> =
  | { readonly type: 'Init' }
  | { readonly type: 'InitDone' }
  | { readonly type: 'InitApply' | 'Apply' | 'Delete'; readonly object: T };

/** A line of a watch. */
export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubernetesObject }
  | { readonly type: 'BOOKMARK'; readonly version: string; readonly endsInitialEvents: boolean }
  | { readonly type: 'ERROR'; readonly status: unknown };

export interface ObjectReading {
  readonly apiVersion: string;
  readonly kind: string;
  readonly keepManagedFields: boolean;
}

/** An object of a list or a watch. Items of a list have neither apiVersion nor kind. Throws `MalformedResponse`. */
export function readObject(value: unknown, { apiVersion, kind, keepManagedFields }: ObjectReading): KubernetesObject {
  const object = value as Record<string, unknown> | null; // looked at here, and then trusted
  const metadata = object?.metadata as Record<string, unknown> | null | undefined; // the same
  if (typeof metadata?.name !== 'string') throw new MalformedResponse('an object in it has no metadata.name');
  if (metadata.namespace !== undefined && typeof metadata.namespace !== 'string') {
    throw new MalformedResponse('an object in it has a metadata.namespace that is no text');
  }
  if (object && !keepManagedFields && metadata.managedFields !== undefined) {
    const { managedFields: _, ...rest } = metadata;
    object.metadata = rest;
  }
  if (object && object.kind === undefined) {
    object.apiVersion = apiVersion;
    object.kind = kind;
  }
  return object as unknown as KubernetesObject; // a name is all that is needed here; the rest is the API server's promise
}

/** A line of a watch. Throws `MalformedResponse`. */
export function readWatchEvent(line: string, reading: ObjectReading): WatchEvent {
  const { type, object } = Object(parseBounded(line, 'an event in it is not JSON'));
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: readObject(object, reading) };
    case 'BOOKMARK': {
      const { resourceVersion, annotations } = Object(Object(object).metadata);
      // An empty one is none: a watch from there would pass over what has gone meanwhile.
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

/** Whether a version is older than another: versions of one server are numbers, as long as it says the truth. */
export function isOlder(version: string, than: string): boolean {
  if (!/^\d+$/.test(version) || !/^\d+$/.test(than)) return false;
  return version.length === than.length ? version < than : version.length < than.length;
}
