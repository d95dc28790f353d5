/**
 * Replaces etcd: stores objects by resource with one version counter, and keeps recent changes, so that a list can continue at its
 * version and a watch can begin at one.
 */

import { keyOf, type StoredObject, withMeta } from './objects.ts';

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
  readonly #store: Store;
  readonly #objects = new Map<string, StoredObject>();
  readonly #listeners = new Set<() => void>();
  #sorted: readonly string[] | undefined;
  readonly #changes: Change[] = [];
  /** How many changes are no longer kept. */
  #forgotten = 0;
  #oldest = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The oldest version that a watch can begin at, or a list can show. */
  get oldest(): number {
    return this.#oldest;
  }

  /** The position after the last change. */
  get end(): number {
    return this.#forgotten + this.#changes.length;
  }

  get(key: string): StoredObject | undefined {
    return this.#objects.get(key);
  }

  /** Keys in the order of a list. */
  #keys(): readonly string[] {
    this.#sorted ??= [...this.#objects.keys()].sort();
    return this.#sorted;
  }

  /** The objects, or those of a namespace, in the order of a list. */
  list(namespace?: string): readonly StoredObject[] {
    const all = this.#keys();
    const keys = namespace === undefined ? all : all.filter((key) => key.startsWith(`${namespace}/`));
    return keys.flatMap((key) => this.#objects.get(key) ?? []);
  }

  /** Whether a namespace has objects of this resource. */
  hasObjectsIn(namespace: string): boolean {
    for (const key of this.#objects.keys()) if (key.startsWith(`${namespace}/`)) return true;
    return false;
  }

  /** Keys in the order of a list, and objects, as they were at a version that is not older than `oldest`. */
  at(version: number): { readonly keys: readonly string[]; readonly objects: ReadonlyMap<string, StoredObject> } {
    const since = this.positionAfter(version);
    if (since === this.end) return { keys: this.#keys(), objects: this.#objects };
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
    if (this.#store.isDryRun) return withMeta(object, { resourceVersion: before?.metadata.resourceVersion ?? '' });
    const stored = this.#store.stamp(object);
    this.#objects.set(key, stored);
    if (!before) this.#sorted = undefined;
    this.#changed({ version: this.#store.version, key, before, object: stored, deleted: false });
    return stored;
  }

  /** Removes an object. Returns its last state, with the version of its deletion. */
  delete(object: StoredObject): StoredObject {
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const before = this.#objects.get(key);
    if (!before || this.#store.isDryRun) return object;
    const stored = this.#store.stamp(before);
    this.#objects.delete(key);
    this.#sorted = undefined;
    this.#changed({ version: this.#store.version, key, before, object: stored, deleted: true });
    return stored;
  }

  /** Calls back after each change. Returns the function that ends it. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Forgets all but the newest changes. */
  forget(keep: number): void {
    const dropped = this.#changes.splice(0, this.#changes.length - keep);
    this.#forgotten += dropped.length;
    this.#oldest = keep === 0 ? this.#store.version : Math.max(this.#oldest, dropped.at(-1)?.version ?? 0);
  }

  #changed(change: Change): void {
    this.#changes.push(change);
    const { history } = this.#store;
    // Some at once: to move the rest at each change would take long.
    if (this.#changes.length > history + Math.ceil(history / 4)) this.forget(history);
    for (const listener of this.#listeners) listener();
  }
}

export class Store {
  /** How many changes of each resource are kept. */
  readonly history: number;
  readonly #collections = new Map<string, Collection>();
  #version = 0;
  #isDryRun = false;

  constructor(history: number) {
    this.history = history;
  }

  /** The newest version. */
  get version(): number {
    return this.#version;
  }

  collection(key: string): Collection {
    const found = this.#collections.get(key) ?? new Collection(this);
    this.#collections.set(key, found);
    return found;
  }

  hasObjectsIn(namespace: string): boolean {
    return [...this.#collections.values()].some((collection) => collection.hasObjectsIn(namespace));
  }

  /** Nothing is stored at the moment. */
  get isDryRun(): boolean {
    return this.#isDryRun;
  }

  /** Does a write, or only looks what would come of it. */
  write<T>(isDryRun: boolean, work: () => T): T {
    this.#isDryRun = isDryRun;
    try {
      return work();
    } finally {
      this.#isDryRun = false;
    }
  }

  /** The object under the next version. */
  stamp(object: StoredObject): StoredObject {
    this.#version += 1;
    return withMeta(object, { resourceVersion: String(this.#version) });
  }

  /** Forgets every change: earlier versions can neither be listed nor watched. */
  compact(): void {
    for (const collection of this.#collections.values()) collection.forget(0);
  }
}
