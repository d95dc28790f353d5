/** Kubernetes objects: as they come in, as they are kept, and as they go out. */

import { z } from 'zod';
import { apiVersionOf, type ResourceType } from './built-in-types.ts';
import { type JsonObject, without } from './json.ts';

const texts = z.record(z.string(), z.string()).optional();
const ownerReference = z.object({
  apiVersion: z.string().default(''),
  kind: z.string().default(''),
  name: z.string().default(''),
  uid: z.string().default(''),
  controller: z.boolean().optional(),
  blockOwnerDeletion: z.boolean().optional(),
});
/** What a client may say in metadata; the rest only the server says. */
export const metadataSchema = z.object({
  name: z.string().optional(),
  generateName: z.string().optional(),
  namespace: z.string().optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  labels: texts,
  annotations: texts,
  finalizers: z.array(z.string()).optional(),
  ownerReferences: z.array(ownerReference).optional(),
});

export type OwnerReference = z.output<typeof ownerReference>;

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

/** Metadata of an object that may not have been stored yet. */
export interface GivenMeta extends Readonly<z.output<typeof metadataSchema>>, JsonObject {
  readonly generation?: number | undefined;
  readonly creationTimestamp?: string | undefined;
  readonly deletionTimestamp?: string | undefined;
  readonly deletionGracePeriodSeconds?: number | undefined;
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

/** Where an object is, or will be. */
export interface Place {
  readonly type: ResourceType;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Where an object stands among those of its resource, in the order of a list. */
export const keyOf = (namespace: string | undefined, name: string) =>
  namespace === undefined ? name : `${namespace}/${name}`;
