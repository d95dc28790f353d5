/** The changes of an informer's cache, and those that one consumer has not read yet. */
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import type { InformerEvent } from './options.ts';

export interface Change<T> {
  readonly key: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
  /** The last state of a deleted object. */
  readonly gone?: T | undefined;
  /** It comes from the informer's first list. */
  readonly initial: boolean;
}

/** Several changes of one object are one, whose `before` is the state that the consumer saw last. */
export class Pending<T extends KubernetesObject> {
  readonly #changes = new Map<string, Omit<Change<T>, 'initial'>>();

  get size(): number {
    return this.#changes.size;
  }

  add(change: Omit<Change<T>, 'initial'>): void {
    const { key, after } = change;
    const earlier = this.#changes.get(key);
    const { before } = earlier ?? change;
    // The consumer has not seen what else is gone, only another object of the same name.
    const gone = [change.gone, earlier?.gone].find((object) => object && object.metadata.uid === before?.metadata.uid);
    // It was created and deleted before the consumer has seen it.
    if (before === undefined && after === undefined) this.#changes.delete(key);
    else this.#changes.set(key, { key, before, after, gone });
  }

  /** Takes the next object's events: two if another object of the same name has replaced it. */
  take(): readonly InformerEvent<T>[] {
    const [next] = this.#changes.values();
    if (!next) return [];
    const { key, before, after, gone } = next;
    this.#changes.delete(key);
    if (before && after && before.metadata.uid === after.metadata.uid) {
      return [{ type: 'Apply', object: after, old: before }];
    }
    const deleted = before ? [{ type: 'Delete', object: gone ?? before } as const] : [];
    return after ? [...deleted, { type: 'Apply', object: after }] : deleted;
  }
}
