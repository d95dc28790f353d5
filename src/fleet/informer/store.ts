/** What an informer caches: the objects of one resource, by key and by index. */
import { type KubernetesObject, keyOf } from '../../rest/api/kubernetes-object.ts';
import { isString } from '../../util/guards.ts';
import { ask } from '../guard.ts';
import type { ReflectorContext } from '../reflect/reflector.ts';

/** Returns the values under which an object is found. */
export type Indexer<T> = { of(object: T): readonly string[] }['of'];

/** The name of the index by the uid of the controller, which is made at the first question. */
const controllers = Symbol('controllers');

export class Store<T extends KubernetesObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string | symbol, Index<T>>();

  constructor(indexers: Readonly<Record<string, Indexer<T>>>, { logger, fields }: ReflectorContext) {
    for (const [name, indexer] of Object.entries(indexers)) {
      // If it throws, its index does not have the object.
      const valuesOf = (object: T) => {
        const key = keyOf(object);
        const what = `indexer ${name} for ${object.kind} ${key}`;
        return ask(logger, { ...fields, object: key }, what, () => indexer(object), textsOf) ?? [];
      };
      this.#indexes.set(name, new Index(valuesOf));
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
    if (index) return index.get(value);
    const names = [...this.#indexes.keys()].filter(isString).join(', ') || 'none';
    throw new TypeError(`there is no index ${name}: name it in indexers (${names})`);
  }

  /** The objects whose controller has this uid. */
  childrenOf(uid: string): readonly T[] {
    const known = this.#indexes.get(controllers);
    if (known) return known.get(uid);
    const index = new Index<T>(controllersOf);
    for (const [key, object] of this.#objects) index.set(key, object);
    this.#indexes.set(controllers, index);
    return index.get(uid);
  }

  set(key: string, object: T): void {
    this.#objects.set(key, object);
    for (const index of this.#indexes.values()) index.set(key, object);
  }

  delete(key: string): void {
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) index.delete(key);
  }
}

class Index<T> {
  readonly #valuesOf: Indexer<T>;
  /** The objects under each value, by key. */
  readonly #objects = new Map<string, Map<string, T>>();
  /** The current values of each object: the indexer might answer differently a second time. */
  readonly #values = new Map<string, readonly string[]>();

  constructor(valuesOf: Indexer<T>) {
    this.#valuesOf = valuesOf;
  }

  get(value: string): readonly T[] {
    return [...(this.#objects.get(value)?.values() ?? [])];
  }

  set(key: string, object: T): void {
    this.delete(key);
    const values = this.#valuesOf(object);
    if (values.length > 0) this.#values.set(key, values);
    for (const value of values) {
      const objects = this.#objects.get(value) ?? new Map<string, T>();
      this.#objects.set(value, objects.set(key, object));
    }
  }

  delete(key: string): void {
    for (const value of this.#values.get(key) ?? []) {
      const objects = this.#objects.get(value);
      objects?.delete(key);
      if (objects?.size === 0) this.#objects.delete(value);
    }
    this.#values.delete(key);
  }
}

function controllersOf({ metadata: { ownerReferences } }: KubernetesObject): readonly string[] {
  return (ownerReferences ?? []).filter(({ controller }) => controller).map(({ uid }) => uid);
}

function textsOf(values: unknown): readonly string[] {
  if (Array.isArray(values) && values.every((value) => typeof value === 'string')) return [...values];
  throw new TypeError('it returned no list of texts');
}
