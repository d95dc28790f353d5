/** The changes of an informer's cache, and those that one consumer has not read yet. */
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import type { InformerEvent } from './options.ts';

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

/** Several changes of one object are one. */
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
