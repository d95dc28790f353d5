/** Kubernetes objects: as they come in, as they are kept, and as they go out. */

import { apiVersionOf, type ResourceType } from './built-in-types.ts';
import { type JsonObject, without } from './json.ts';

export interface OwnerReference extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean | undefined;
  readonly blockOwnerDeletion?: boolean | undefined;
}

/** An entry of `metadata.managedFields`. */
export interface ManagedFields extends JsonObject {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly time: string;
  readonly fieldsType: 'FieldsV1';
  readonly fieldsV1: JsonObject;
  readonly subresource?: string;
}

/** Metadata as a client has sent it. */
export interface GivenMeta extends JsonObject {
  readonly name?: string | undefined;
  readonly generateName?: string | undefined;
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly generation?: number | undefined;
  readonly creationTimestamp?: string | undefined;
  readonly deletionTimestamp?: string | undefined;
  readonly deletionGracePeriodSeconds?: number | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly ownerReferences?: readonly OwnerReference[] | undefined;
  /** The server writes them; what a client sends is ignored. */
  readonly managedFields?: readonly ManagedFields[] | undefined;
}

/** An object without its kind and version, which its resource says. */
export interface GivenObject extends JsonObject {
  readonly metadata: GivenMeta;
}

/** What every stored object has. */
export interface StoredMeta extends GivenMeta {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
}

/** An object as it is kept. Nothing changes it: a write puts another in its place. */
export interface StoredObject extends JsonObject {
  readonly metadata: StoredMeta;
}

/** A whole object, as it goes out. */
export interface KubernetesObject extends StoredObject {
  readonly apiVersion: string;
  readonly kind: string;
}

/** An object as it goes out: a list of built-in objects leaves out what its own kind says. One that was not stored has no version. */
export function present(type: ResourceType, object: StoredObject): KubernetesObject {
  const { resourceVersion } = object.metadata;
  const shown =
    resourceVersion === '' ? withMeta<JsonObject & StoredObject>(object, { resourceVersion: undefined }) : object;
  return { kind: type.kind, apiVersion: apiVersionOf(type), ...shown };
}

/** The object with other metadata; fields that are `undefined` go. */
export function withMeta<T extends JsonObject & { readonly metadata: GivenMeta }>(object: T, meta: GivenMeta): T {
  return { ...object, metadata: without({ ...object.metadata, ...meta }) };
}

/** Where an object stands among those of its resource, in the order of a list. */
export const keyOf = (namespace: string | undefined, name: string) =>
  namespace === undefined ? name : `${namespace}/${name}`;
