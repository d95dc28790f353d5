/** Indexers are functions of the caller: one that throws leaves its object out of its index. */
import { type KubernetesObject, keyOf } from '../../rest/api/kubernetes-object.ts';
import { ask } from '../guard.ts';
import type { ReflectorContext } from '../reflect/reflector.ts';
import type { Indexer } from './store.ts';

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
