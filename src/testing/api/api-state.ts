/**
 * What the API keeps: the kinds that it serves, the watches that are open, and in place of etcd the objects, with one version counter.
 * Recent changes are kept, so that a list can continue at its version and a watch can begin at one.
 */
import { randomUUID } from 'node:crypto';
import { apiVersionOf, builtInTypes, type ResourceType, storageKeyOf } from './built-in-types.ts';
import { type GivenMeta, keyOf, type Place, type StoredObject, timestamp, withMeta } from './objects.ts';
import { notFound } from './status.ts';

export interface ApiStateOptions {
  /** How many changes of each resource are kept. */
  readonly history: number;
  readonly clock: () => number;
}

interface OpenWatch {
  readonly type: ResourceType;
  /** Passes on pending events while there is room. */
  pump(): void;
  /** Sends a bookmark, if the reader asked for bookmarks. */
  bookmark(): void;
  /** Ends the stream, as a server does at a watch's timeout. */
  end(): void;
}

export interface Change {
  readonly version: number;
  readonly key: string;
  /** The object before the change; `undefined` if the change created it. */
  readonly before: StoredObject | undefined;
  /** The object after the change, or its last state, with the change's version. */
  readonly object: StoredObject;
  readonly deleted: boolean;
}

/** The objects of one resource. */
export class Collection {
  readonly watches = new Set<OpenWatch>();
  /** The oldest version that a watch can begin at, or a list can show. */
  oldest = 0;
  readonly #state: ApiState;
  readonly #objects = new Map<string, StoredObject>();
  #sorted: readonly string[] | undefined;
  readonly #changes: Change[] = [];
  /** How many changes are no longer kept. */
  #forgotten = 0;

  constructor(state: ApiState) {
    this.#state = state;
  }

  /** The position after the last change. */
  get end(): number {
    return this.#forgotten + this.#changes.length;
  }

  get(key: string): StoredObject | undefined {
    return this.#objects.get(key);
  }

  /** The objects, or those of a namespace, in the order of a list. */
  list(namespace?: string): readonly StoredObject[] {
    const prefix = namespace === undefined ? '' : `${namespace}/`;
    const { keys, objects } = this.at(this.#state.version);
    return keys.flatMap((key) => (key.startsWith(prefix) ? (objects.get(key) ?? []) : []));
  }

  hasObjectsIn(namespace: string): boolean {
    for (const key of this.#objects.keys()) if (key.startsWith(`${namespace}/`)) return true;
    return false;
  }

  /** Keys in the order of a list, and objects, as they are, or were at a version that is not older than `oldest`. */
  at(version: number): { readonly keys: readonly string[]; readonly objects: ReadonlyMap<string, StoredObject> } {
    const since = this.positionAfter(version);
    if (since === this.end) {
      this.#sorted ??= [...this.#objects.keys()].sort();
      return { keys: this.#sorted, objects: this.#objects };
    }
    const objects = new Map(this.#objects);
    for (const { key, before } of this.#changes.slice(since - this.#forgotten).toReversed()) {
      if (before) objects.set(key, before);
      else objects.delete(key);
    }
    return { keys: [...objects.keys()].sort(), objects };
  }

  /** Where the changes after a version begin. */
  positionAfter(version: number): number {
    return this.#forgotten + this.#changes.findLastIndex((change) => change.version <= version) + 1;
  }

  /** The change at a position; `gone` if it is no longer kept, `undefined` if it has not happened yet. */
  changeAt(position: number): Change | 'gone' | undefined {
    return position < this.#forgotten ? 'gone' : this.#changes[position - this.#forgotten];
  }

  /** Stores an object under the next version. */
  put(object: StoredObject): StoredObject {
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const before = this.#objects.get(key);
    if (this.#state.isDryRun) return withMeta(object, { resourceVersion: before?.metadata.resourceVersion ?? '' });
    const stored = this.#state.stamp(object);
    this.#objects.set(key, stored);
    if (!before) this.#sorted = undefined;
    this.#changed({ version: this.#state.version, key, before, object: stored, deleted: false });
    return stored;
  }

  /** Removes an object. Returns its last state, with the version of its deletion. */
  delete(object: StoredObject): StoredObject {
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const before = this.#objects.get(key);
    if (!before || this.#state.isDryRun) return object;
    const stored = this.#state.stamp(before);
    this.#objects.delete(key);
    this.#sorted = undefined;
    this.#changed({ version: this.#state.version, key, before, object: stored, deleted: true });
    return stored;
  }

  /** Forgets all but the newest changes. */
  forget(keep: number): void {
    const dropped = this.#changes.splice(0, this.#changes.length - keep);
    this.#forgotten += dropped.length;
    this.oldest = keep === 0 ? this.#state.version : Math.max(this.oldest, dropped.at(-1)?.version ?? 0);
  }

  #changed(change: Change): void {
    this.#changes.push(change);
    const { history } = this.#state;
    // Some at once: to move the rest at each change would take long.
    if (this.#changes.length > history + Math.ceil(history / 4)) this.forget(history);
    for (const watch of this.watches) watch.pump();
  }
}

export class ApiState {
  readonly clock: () => number;
  readonly history: number;
  /** The newest version. */
  version = 0;
  /** Nothing is stored at the moment. */
  isDryRun = false;
  /** By group, version and plural. */
  readonly #types = new Map(builtInTypes.map((type) => [pathOf(type), type]));
  /** By where the objects are stored. */
  readonly #collections = new Map<string, Collection>();

  constructor({ history, clock }: ApiStateOptions) {
    this.history = history;
    this.clock = clock;
  }

  get watches(): readonly OpenWatch[] {
    return [...this.#collections.values()].flatMap(({ watches }) => [...watches]);
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

  /** Serves the kinds of a CustomResourceDefinition in place of those that it had before, whose watches end. */
  define({ metadata }: StoredObject, types: readonly ResourceType[]): void {
    for (const [path, type] of this.#types) {
      if (type.custom && storageKeyOf(type) === metadata.name) this.#types.delete(path);
    }
    for (const type of types) this.#types.set(pathOf(type), type);
    for (const watch of this.watches) if (!this.#types.has(pathOf(watch.type))) watch.end();
  }

  collection(type: ResourceType): Collection {
    return this.collectionAt(storageKeyOf(type));
  }

  /** The objects that are stored under a key, which for custom resources is the name of their definition. */
  collectionAt(key: string): Collection {
    const found = this.#collections.get(key) ?? new Collection(this);
    this.#collections.set(key, found);
    return found;
  }

  hasObjectsIn(namespace: string): boolean {
    return [...this.#collections.values()].some((collection) => collection.hasObjectsIn(namespace));
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

  find({ type, namespace, name }: Place): StoredObject | undefined {
    return this.collection(type).get(keyOf(namespace, name));
  }

  /** An object that is there. Throws a 404. */
  get(place: Place): StoredObject {
    const found = this.find(place);
    if (!found) throw notFound(place.type, place.name);
    return found;
  }

  newMeta(type: ResourceType): GivenMeta & { readonly uid: string; readonly creationTimestamp: string } {
    return {
      uid: randomUUID(),
      creationTimestamp: timestamp(this.clock()),
      ...(type.generation ? { generation: 1 } : {}),
    };
  }

  /** Does a write, or only looks what would come of it. */
  write<T>(isDryRun: boolean, work: () => T): T {
    this.isDryRun = isDryRun;
    try {
      return work();
    } finally {
      this.isDryRun = false;
    }
  }

  /** The object under the next version. */
  stamp(object: StoredObject): StoredObject {
    this.version += 1;
    return withMeta(object, { resourceVersion: String(this.version) });
  }

  /** Forgets every change: earlier versions can neither be listed nor watched. */
  compact(): void {
    for (const collection of this.#collections.values()) collection.forget(0);
  }
}

const pathOf = ({ group, version, plural }: Pick<ResourceType, 'group' | 'version' | 'plural'>) =>
  `${group}/${version}/${plural}`;
