/**
 * What one consumer of an informer has not seen yet. Changes of one object are merged: however slowly it reads, there is never
 * more than one entry for each object that it has seen or that is there.
 */
import type { KubernetesObject } from '../kubernetes-object.ts';

/** An object is as it is now, or is gone. */
export type InformerEvent<T extends KubernetesObject = KubernetesObject> =
  | {
      readonly type: 'Apply';
      readonly object: T;
      /** As the consumer saw it last; absent where it is new to it. */
      readonly old?: T;
      /** It was there when the loop began, or is of the informer's first list. client-go calls it `isInInitialList`. */
      readonly initial: boolean;
    }
  | { readonly type: 'Delete'; readonly object: T };

/** A change of the cache. */
export interface Change<T> {
  readonly key: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
  /** Where it is gone: as it was last. */
  readonly gone?: T;
  /** It comes from the informer's first list. */
  readonly initial: boolean;
}

interface Entry<T> {
  /** As the consumer saw it last. */
  readonly seen: T | undefined;
  readonly after: T | undefined;
  readonly gone: T | undefined;
  readonly initial: boolean;
}

export class Pending<T extends KubernetesObject> {
  readonly #entries = new Map<string, Entry<T>>();
  #wake = () => {};

  get size(): number {
    return this.#entries.size;
  }

  add({ key, before, after, gone, initial }: Change<T>): void {
    const entry = this.#entries.get(key);
    const seen = entry ? entry.seen : before;
    // Of another object of the same name the consumer has seen nothing.
    const last = [gone, entry?.gone].find(
      (object) => object !== undefined && object.metadata.uid === seen?.metadata.uid,
    );
    // What was there stays so where it changes before the consumer has seen it.
    const isInitial = initial || (entry?.initial === true && entry.after?.metadata.uid === after?.metadata.uid);
    // It came and went, and the consumer has seen nothing of it.
    if (seen === undefined && after === undefined) this.#entries.delete(key);
    else this.#entries.set(key, { seen, after, gone: last, initial: seen === undefined && isInitial });
    this.#wake();
  }

  /** The next object's events: two where another object of the same name has taken its place. */
  take(): readonly InformerEvent<T>[] {
    const [next] = this.#entries;
    if (!next) return [];
    const [key, { seen, after, gone, initial }] = next;
    this.#entries.delete(key);
    if (after === undefined) return seen === undefined ? [] : [{ type: 'Delete', object: gone ?? seen }];
    if (seen === undefined) return [{ type: 'Apply', object: after, initial }];
    if (seen.metadata.uid === after.metadata.uid) return [{ type: 'Apply', object: after, old: seen, initial: false }];
    return [
      { type: 'Delete', object: gone ?? seen },
      { type: 'Apply', object: after, initial: false },
    ];
  }

  /** Resolves when something is there, or `wake` is called. */
  async changed(): Promise<void> {
    if (this.#entries.size > 0) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  wake(): void {
    this.#wake();
  }
}
