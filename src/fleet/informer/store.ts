/** What an informer caches: the objects of one resource, by key and by index. */
import { type KubernetesObject, keyOf } from '../../rest/api/kubernetes-object.ts';
import { ask } from '../guard.ts';
import type { ReflectorContext } from '../reflect/reflector.ts';

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
  /** By the uid of the controller; made at the first question. */
  #children: Index<T> | undefined;

  constructor(indexers: Readonly<Record<string, Indexer<T>>> = {}) {
    for (const [name, valuesOf] of Object.entries(indexers)) {
      this.#indexes.set(name, { valuesOf, keysOf: new Map(), valuesByKey: new Map() });
    }
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

  /** The objects whose controller has this uid. */
  childrenOf(uid: string): readonly T[] {
    if (!this.#children) {
      this.#children = { valuesOf: controllersOf, keysOf: new Map(), valuesByKey: new Map() };
      for (const [key, object] of this.#objects) list(this.#children, key, object);
    }
    return [...(this.#children.keysOf.get(uid) ?? [])].flatMap((key) => this.#objects.get(key) ?? []);
  }

  set(key: string, object: T): void {
    this.#objects.set(key, object);
    for (const index of this.#all) {
      unlist(index, key);
      list(index, key, object);
    }
  }

  delete(key: string): void {
    this.#objects.delete(key);
    for (const index of this.#all) unlist(index, key);
  }

  get #all(): Iterable<Index<T>> {
    return this.#children ? [...this.#indexes.values(), this.#children] : this.#indexes.values();
  }
}

function controllersOf({ metadata: { ownerReferences } }: KubernetesObject): readonly string[] {
  return (ownerReferences ?? []).filter(({ controller }) => controller).map(({ uid }) => uid);
}

function list<T>(index: Index<T>, key: string, object: T): void {
  const values = [...new Set(index.valuesOf(object))];
  if (values.length === 0) return;
  index.valuesByKey.set(key, values);
  for (const value of values) {
    const keys = index.keysOf.get(value);
    if (keys) keys.add(key);
    else index.keysOf.set(value, new Set([key]));
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

function textsOf(values: unknown): readonly string[] {
  if (Array.isArray(values) && values.every((value) => typeof value === 'string')) return [...values];
  throw new TypeError('it returned no list of texts');
}

/** If an indexer throws, its index does not have the object. */
export function guardedIndexers<T extends KubernetesObject>(
  indexers: Readonly<Record<string, Indexer<T>>>,
  { logger, fields }: ReflectorContext,
): Record<string, Indexer<T>> {
  return Object.fromEntries(
    Object.entries(indexers).map(([name, valuesOf]) => [
      name,
      (object: T) => {
        const what = `indexer ${name} for ${object.kind} ${keyOf(object)}`;
        return ask(logger, { ...fields, object: keyOf(object) }, what, () => valuesOf(object), textsOf) ?? [];
      },
    ]),
  );
}
