/** The informers of one cluster, shared by equal options. */
import { isDeepStrictEqual } from 'node:util';
import { parseOptionsWith } from '../../options/option-schemas.ts';
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import type { ReflectorContext } from '../reflect/reflector.ts';
import { Informer, type InformerListener } from './informer.ts';
import { type InformerOptions, informerSchema } from './options.ts';

/** So many informers of one resource are hardly intended: functions created at each call cannot be shared. */
const suspicious = 8;

export class Informers {
  readonly #context: ReflectorContext;
  readonly #signal: AbortSignal;
  readonly #listener: InformerListener;
  readonly #byResource = new Map<string, Informer[]>();
  /** Of a controller's sources, whose options stay as they are: each write of a reconcile asks for them. */
  readonly bySource = new WeakMap<object, Informer>();

  constructor(context: ReflectorContext, signal: AbortSignal, listener: InformerListener = {}) {
    this.#context = context;
    this.#signal = signal;
    this.#listener = listener;
  }

  *[Symbol.iterator](): IterableIterator<Informer> {
    for (const informers of this.#byResource.values()) yield* informers;
  }

  /**
   * Returns the informer for these options, and starts a new one at once. Throws the signal's reason after the end.
   *
   * @throws ConfigurationError that names every bad option
   */
  get<T extends KubernetesObject>(given: InformerOptions<T>): Informer<T> {
    // A copy: the caller may change the object later. The schema has checked every function; its types are the caller's.
    const options = parseOptionsWith(informerSchema, given) as object as InformerOptions<T>;
    this.#signal.throwIfAborted();
    const { apiVersion, kind, namespace, labelSelector, fieldSelector } = options;
    const { maxObjects, maxBytes, metadataOnly = false } = options;
    const selectors = [namespace, labelSelector, fieldSelector];
    const key = JSON.stringify([apiVersion, kind, ...selectors, maxObjects, maxBytes, metadataOnly]);
    const informers = this.#byResource.get(key) ?? [];
    const shared = informers.find((informer) => isDeepStrictEqual(functionsOf(informer.options), functionsOf(options)));
    if (shared) return shared as unknown as Informer<T>; // the same functions take the same type
    const informer = new Informer<T>(options, this.#context, this.#signal, this.#listener);
    this.#byResource.set(key, [...informers, informer as unknown as Informer]); // read as what every object is
    const { logger, fields } = this.#context;
    logger.debug?.(fields, `informer for ${kind} (${apiVersion})`);
    if (informers.length + 1 === suspicious) {
      const advice = 'define transform and indexers once, outside of what is called again and again';
      const what = `${suspicious} informers for ${kind} (${apiVersion}), each with functions of its own`;
      logger.warn(fields, `${what}: ${advice}`);
    }
    return informer;
  }
}

function functionsOf<T extends KubernetesObject>({ transform, indexers = {} }: InformerOptions<T>) {
  return [transform, indexers];
}
