/** Stores the objects of one resource by key and by index. Synchronous; must not know a server. */
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';

/** Returns the values under which an object is found. */
export type Indexer<T> = { of(object: T): readonly string[] }['of'];

interface Index<T> {
  readonly valuesOf: Indexer<T>;
  readonly keysOf: Map<string, Set<string>>;
  /** The current index values of each object: the indexer might answer differently a second time. */
  readonly valuesByKey: Map<string, readonly string[]>;
}

export class Store<T extends KubernetesObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, Index<T>>();

  constructor(indexers: Readonly<Record<string, Indexer<T>>> = {}) {
    for (const [name, valuesOf] of Object.entries(indexers)) {
      this.#indexes.set(name, { valuesOf, keysOf: new Map(), valuesByKey: new Map() });
    }
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  /** @throws {TypeError} if there is no such index */
  byIndex(name: string, value: string): readonly T[] {
    const index = this.#indexes.get(name);
    if (!index)
      throw new TypeError(
        `there is no index ${name}: name it in indexers (${[...this.#indexes.keys()].join(', ') || 'none'})`,
      );
    return [...(index.keysOf.get(value) ?? [])].flatMap((key) => this.#objects.get(key) ?? []);
  }

  set(key: string, object: T): void {
    this.#objects.set(key, object);
    for (const index of this.#indexes.values()) {
      unlist(index, key);
      const values = [...new Set(index.valuesOf(object))];
      if (values.length === 0) continue;
      index.valuesByKey.set(key, values);
      for (const value of values) {
        const keys = index.keysOf.get(value);
        if (keys) keys.add(key);
        else index.keysOf.set(value, new Set([key]));
      }
    }
  }

  delete(key: string): void {
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) unlist(index, key);
  }
}

function unlist<T>({ keysOf, valuesByKey }: Index<T>, key: string): void {
  for (const value of valuesByKey.get(key) ?? []) {
    const keys = keysOf.get(value);
    keys?.delete(key);
    if (keys?.size === 0) keysOf.delete(value);
  }
  valuesByKey.delete(key);
}
