/** The options of an informer, and the events that it yields. */
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
