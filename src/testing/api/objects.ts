/** Kubernetes objects: as they come in, as they are kept, and as they go out. */

import { z } from 'zod';
import { apiVersionOf, type ResourceType } from './built-in-types.ts';
import { type JsonObject, without } from './json.ts';

/** `null` is as good as absent in Kubernetes. */
const optional = <T extends z.ZodType>(type: T) =>
  type.nullish().transform((value) => (value === null ? undefined : value));
/** A `null` is an empty text in Kubernetes. */
const texts = optional(
  z.record(
    z.string(),
    z
      .string()
      .nullable()
      .transform((value) => value ?? ''),
  ),
);
const ownerReference = z
  .object({
    apiVersion: z.string().default(''),
    kind: z.string().default(''),
    name: z.string().default(''),
    uid: z.string().default(''),
    controller: optional(z.boolean()),
    blockOwnerDeletion: optional(z.boolean()),
  })
  .transform((owner) => without(owner));
/** Metadata as a client sends it. */
export const metadataSchema = z.object({
  name: optional(z.string()),
  generateName: optional(z.string()),
  namespace: optional(z.string()),
  uid: optional(z.string()),
  resourceVersion: optional(z.string()),
  generation: optional(z.int()),
  creationTimestamp: optional(z.string()),
  deletionTimestamp: optional(z.string()),
  deletionGracePeriodSeconds: optional(z.int()),
  labels: texts,
  annotations: texts,
  finalizers: optional(z.array(z.string())),
  ownerReferences: optional(z.array(ownerReference)),
});

export type OwnerReference = Readonly<z.output<typeof ownerReference>>;

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
export type GivenMeta = JsonObject &
  Readonly<Partial<z.output<typeof metadataSchema>>> & {
    /** The server writes them; what a client sends is ignored. */
    readonly managedFields?: readonly ManagedFields[] | undefined;
  };

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
