/** What the API knows about a kind of object: its names, where it lives, and how its objects may be written. */

import type { JsonObject } from './json.ts';

/** Which names are allowed: the rules of DNS, or anything that fits into a path. */
export type NameRule = 'subdomain' | 'label' | 'path';

/** A field that can be asked for in a field selector. */
export interface SelectableField {
  readonly label: string;
  readonly path: readonly string[];
  /** Fields that carry no information. */
  readonly otherwise: string;
}

/** One kind of object in one version. */
export interface ResourceType {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  /** Defined by a CustomResourceDefinition. */
  readonly custom: boolean;
  /** Objects have a status that only the status subresource writes. */
  readonly status: boolean;
  /** What a new object's status is. */
  readonly initialStatus?: JsonObject;
  /** `metadata.generation` counts the changes of what is neither metadata nor status. */
  readonly generation: boolean;
  /** A PUT creates a missing object. */
  readonly createOnUpdate: boolean;
  /** A PUT needs no `resourceVersion`. */
  readonly unconditionalUpdate: boolean;
  /** A DELETE answers with the object that was there; else with a Status. */
  readonly returnsDeleted: boolean;
  /** All objects of a namespace can be deleted at once. */
  readonly deleteCollection: boolean;
  readonly names: NameRule;
  readonly fields: readonly SelectableField[];
  /** The OpenAPI schema of a CustomResourceDefinition. */
  readonly schema?: JsonObject;
}

/** `v1`, `apps/v1` */
export const apiVersionOf = ({ group, version }: Pick<ResourceType, 'group' | 'version'>) =>
  group === '' ? version : `${group}/${version}`;

/** Where objects are stored: the same for every version of a kind. */
export const storageKeyOf = ({ group, plural }: Pick<ResourceType, 'group' | 'plural'>) => `${plural}.${group}`;

/** A kind with what most kinds have. */
export function resourceType(
  given: Pick<ResourceType, 'group' | 'version' | 'kind' | 'plural' | 'namespaced'> & Partial<ResourceType>,
): ResourceType {
  const { kind, namespaced } = given;
  return {
    listKind: `${kind}List`,
    singular: kind.toLowerCase(),
    custom: false,
    status: false,
    generation: false,
    createOnUpdate: false,
    unconditionalUpdate: true,
    returnsDeleted: false,
    deleteCollection: true,
    names: 'subdomain',
    ...given,
    fields: [
      selectable('metadata.name'),
      ...(namespaced ? [selectable('metadata.namespace')] : []),
      ...(given.fields ?? []),
    ],
  };
}

export const selectable = (path: string, otherwise = ''): SelectableField => ({
  label: path,
  path: path.split('.'),
  otherwise,
});
