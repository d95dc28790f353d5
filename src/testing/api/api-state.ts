/** What the API keeps: the kinds that it serves, the objects, and the watches that are open. */

import { randomUUID } from 'node:crypto';
import { apiVersionOf, builtInTypes, type ResourceType, storageKeyOf } from './built-in-types.ts';
import { timestamp } from './metadata.ts';
import { type GivenMeta, keyOf, type StoredObject } from './objects.ts';
import { notFound } from './status.ts';
import { type Collection, Store } from './store.ts';

export interface ApiStateOptions {
  readonly history: number;
  readonly clock: () => number;
}

interface OpenWatch {
  readonly type: ResourceType;
  /** Sends a bookmark, if the reader asked for bookmarks. */
  bookmark(): void;
  end(): void;
}

export class ApiState {
  readonly store: Store;
  readonly clock: () => number;
  readonly watches = new Set<OpenWatch>();
  /** By group, version and plural. */
  readonly #types = new Map(builtInTypes.map((type) => [pathOf(type), type]));

  constructor({ history, clock }: ApiStateOptions) {
    this.store = new Store(history);
    this.clock = clock;
  }

  /** Every kind, in the order in which discovery lists them. */
  types(): readonly ResourceType[] {
    return [...this.#types.values()];
  }

  /** The kind that a URL names. */
  type(group: string, version: string, plural: string): ResourceType | undefined {
    return this.#types.get(pathOf({ group, version, plural }));
  }

  /** The kind that an object names. */
  typeOfKind(apiVersion: string, kind: string): ResourceType | undefined {
    return this.types().find((type) => type.kind === kind && apiVersionOf(type) === apiVersion);
  }

  get namespaces(): ResourceType {
    return this.#builtIn('', 'namespaces');
  }

  get serviceAccounts(): ResourceType {
    return this.#builtIn('', 'serviceaccounts');
  }

  get definitions(): ResourceType {
    return this.#builtIn('apiextensions.k8s.io', 'customresourcedefinitions');
  }

  /** Serves the kinds of a CustomResourceDefinition in place of those that it had before, whose watches end. */
  define({ metadata }: StoredObject, types: readonly ResourceType[]): void {
    for (const [path, type] of this.#types) {
      if (type.custom && storageKeyOf(type) === metadata.name) this.#types.delete(path);
    }
    for (const type of types) this.#types.set(pathOf(type), type);
    for (const watch of this.watches) if (!this.#types.has(pathOf(watch.type))) watch.end();
  }

  /** The objects of a kind. */
  collection(type: ResourceType): Collection {
    return this.store.collection(storageKeyOf(type));
  }

  /** The objects in a namespace, each with its kind. */
  objectsIn(namespace: string): readonly (readonly [ResourceType, StoredObject])[] {
    // One version of every kind: what is stored is the same in all of them.
    const types = new Map(this.types().map((type) => [storageKeyOf(type), type]));
    const namespaced = [...types.values()].filter((type) => type.namespaced);
    return namespaced.flatMap((type) =>
      this.collection(type)
        .list(namespace)
        .map((object) => [type, object] as const),
    );
  }

  find(type: ResourceType, namespace: string | undefined, name: string): StoredObject | undefined {
    return this.collection(type).get(keyOf(namespace, name));
  }

  /** An object that is there. Throws a 404. */
  get(type: ResourceType, namespace: string | undefined, name: string): StoredObject {
    const found = this.find(type, namespace, name);
    if (!found) throw notFound(type, name);
    return found;
  }

  /** The metadata that a new object gets. */
  newMeta(type: ResourceType): GivenMeta & { readonly uid: string; readonly creationTimestamp: string } {
    return {
      uid: randomUUID(),
      creationTimestamp: timestamp(this.clock()),
      ...(type.generation ? { generation: 1 } : {}),
    };
  }

  #builtIn(group: string, plural: string): ResourceType {
    const type = this.type(group, 'v1', plural);
    if (!type) throw new Error(`${plural} are always served`);
    return type;
  }
}

const pathOf = ({ group, version, plural }: Pick<ResourceType, 'group' | 'version' | 'plural'>) =>
  `${group}/${version}/${plural}`;
