/** The options of an informer, and its events, also for slow readers. */
import { z } from 'zod';
import { wholeNumber } from '../../options/option-schemas.ts';
import type { KubernetesObject, UntypedObject } from '../../rest/api/kubernetes-object.ts';
import { functionOf, resourceShape } from '../option-schemas.ts';
import type { ReflectedResource } from '../reflect/reflector.ts';
import type { Indexer } from './store.ts';

/** Options of an informer. Equal options, with the same functions, share one. */
export interface InformerOptions<T extends KubernetesObject = UntypedObject> extends ReflectedResource {
  /**
   * The most objects in a list: 1 or more. A larger list fails.
   * @default as many as the memory has room for
   */
  readonly maxObjects?: number | undefined;
  /**
   * The most bytes in a list, as the server sends it: 1 or more.
   *
   * @default any number, while the heap is less than six tenths full
   */
  readonly maxBytes?: number | undefined;
  /** Returns the object to cache, for example without fields that you do not read. Keep the name and namespace. */
  readonly transform?: { of(object: T): T }['of'] | undefined;
  /** Index functions by name. They return the values under which `byIndex` finds an object. */
  readonly indexers?: Readonly<Record<string, Indexer<T>>> | undefined;
}

/** @internal */
export const informerShape = {
  ...resourceShape,
  maxObjects: wholeNumber.optional(),
  maxBytes: wholeNumber.optional(),
  transform: functionOf('that returns what is kept of an object').optional(),
  indexers: z
    .record(z.string(), functionOf('that returns the values of an object'), { error: 'must be an object of functions' })
    .optional(),
};
/** @internal */
export const informerSchema = z.strictObject(informerShape, { error: 'must be an object with apiVersion and kind' });

/** An object was added, changed or deleted. */
export type InformerEvent<T extends KubernetesObject = KubernetesObject> =
  | {
      readonly type: 'Apply';
      readonly object: T;
      /** The state that the consumer saw last; absent if it has not seen the object. */
      readonly old?: T;
    }
  | { readonly type: 'Delete'; readonly object: T };

/** A change of the cache. */
export interface Change<T> {
  readonly key: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
  /** The last state of a deleted object. */
  readonly gone?: T;
  /** It comes from the informer's first list. */
  readonly initial: boolean;
}

interface Entry<T> {
  /** The state that the consumer saw last. */
  readonly seen: T | undefined;
  readonly after: T | undefined;
  readonly gone: T | undefined;
}

export class Pending<T extends KubernetesObject> {
  readonly #entries = new Map<string, Entry<T>>();

  get size(): number {
    return this.#entries.size;
  }

  add({ key, before, after, gone }: Omit<Change<T>, 'initial'>): void {
    const entry = this.#entries.get(key);
    const seen = entry ? entry.seen : before;
    // The consumer has not seen this object, only another one of the same name.
    const last = [gone, entry?.gone].find(
      (object) => object !== undefined && object.metadata.uid === seen?.metadata.uid,
    );
    // It was created and deleted before the consumer has seen it.
    if (seen === undefined && after === undefined) this.#entries.delete(key);
    else this.#entries.set(key, { seen, after, gone: last });
  }

  /** Takes the next object's events: two if another object of the same name has replaced it. */
  take(): readonly InformerEvent<T>[] {
    const [next] = this.#entries;
    if (!next) return [];
    const [key, { seen, after, gone }] = next;
    this.#entries.delete(key);
    if (after === undefined) return seen === undefined ? [] : [{ type: 'Delete', object: gone ?? seen }];
    if (seen === undefined) return [{ type: 'Apply', object: after }];
    if (seen.metadata.uid === after.metadata.uid) return [{ type: 'Apply', object: after, old: seen }];
    return [
      { type: 'Delete', object: gone ?? seen },
      { type: 'Apply', object: after },
    ];
  }
}
