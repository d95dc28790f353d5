/** Finalizers of an object. Pure: objects of a cache are shared. */

/** An object of a cache, or a model of client-node. */
export interface Finalized {
  readonly metadata?: { readonly finalizers?: readonly string[] };
}

/**
 * Adds a finalizer.
 *
 * @returns a changed copy; the same object if it has the finalizer
 * @example
 * const kept = addFinalizer(object, 'example.dev/cleanup');
 * if (kept !== object) console.log('write', kept.metadata.finalizers);
 */
export function addFinalizer<T extends Finalized>(object: T, finalizer: string): T {
  const finalizers = object.metadata?.finalizers ?? [];
  return finalizers.includes(finalizer) ? object : withFinalizers(object, [...finalizers, finalizer]);
}

/**
 * Removes a finalizer.
 *
 * @returns a changed copy; the same object if it does not have the finalizer
 */
export function removeFinalizer<T extends Finalized>(object: T, finalizer: string): T {
  const finalizers = object.metadata?.finalizers ?? [];
  if (!finalizers.includes(finalizer)) return object;
  return withFinalizers(
    object,
    finalizers.filter((one) => one !== finalizer),
  );
}

function withFinalizers<T extends Finalized>(object: T, finalizers: readonly string[]): T {
  return { ...object, metadata: { ...object.metadata, finalizers } };
}
