/** What the reconciles of a controller have written in one place, until the next reconcile of the same item: it waits for the caches. */
import { abortable } from '../../util/abortable.ts';
import type { Clock } from '../clock.ts';
import type { Cluster } from '../cluster.ts';
import type { Informer } from '../informer/informer.ts';
import { isVersion } from '../informer/store.ts';
import type { WrittenObject } from './options.ts';
import { groupOf } from './requests.ts';

/** Milliseconds that a reconcile waits for its caches. */
const longestWaitMs = 10_000;

export class Written {
  readonly #cachesOf: (server: Cluster | 'hub' | undefined) => readonly Informer[];
  readonly #clock: Clock;
  /** By the key of the item: the newest version of each cache that it has to see. */
  readonly #items = new Map<string, Map<Informer, string>>();

  /** `cachesOf` gives those that the controller has of a server, or of its own place. */
  constructor(cachesOf: (server: Cluster | 'hub' | undefined) => readonly Informer[], clock: Clock) {
    this.#cachesOf = cachesOf;
    this.#clock = clock;
  }

  has(key: string): boolean {
    return this.#items.has(key);
  }

  /**
   * The item has written this object, on a server or in its own place.
   * @throws {TypeError} if it is not one, such as the Status that a delete may return
   */
  add(key: string, object: WrittenObject, server?: Cluster | 'hub'): void {
    const { apiVersion, kind, metadata } = Object(object) as WrittenObject; // looked at here: it may come from JavaScript
    const { resourceVersion, namespace } = Object(metadata) as NonNullable<WrittenObject['metadata']>; // the same
    if (typeof apiVersion !== 'string' || typeof kind !== 'string' || typeof resourceVersion !== 'string') {
      throw new TypeError(
        'wrote takes the object that a write returned, with apiVersion, kind and metadata.resourceVersion: do not pass what a delete returns',
      );
    }
    // Versions that are no numbers cannot be compared.
    if (!isVersion(resourceVersion)) return;
    const awaited = this.#items.get(key) ?? new Map<Informer, string>();
    for (const informer of this.#cachesOf(server)) {
      const { options } = informer;
      if (options.kind !== kind || groupOf(options.apiVersion) !== groupOf(apiVersion)) continue;
      if (options.namespace !== undefined && options.namespace !== namespace) continue;
      if (BigInt(resourceVersion) > BigInt(awaited.get(informer) ?? 0)) awaited.set(informer, resourceVersion);
    }
    if (awaited.size > 0) this.#items.set(key, awaited);
  }

  /**
   * Resolves when the caches have what the item has written. Returns what is missing where that takes too long. Rejects with the reason of
   * `signal`, or of caches that end.
   */
  async seen(key: string, signal: AbortSignal): Promise<string | undefined> {
    const awaited = [...(this.#items.get(key) ?? [])];
    this.#items.delete(key);
    const late = new AbortController();
    const cancel = this.#clock.after(longestWaitMs, () => late.abort());
    try {
      const all = () =>
        Promise.all(awaited.map(([informer, version]) => informer.reached(version, { signal: late.signal })));
      await abortable(all, signal);
      return undefined;
    } catch (error) {
      if (!late.signal.aborted || signal.aborted) throw error;
      const versions = awaited.map(([{ options }, version]) => `${options.kind} (${version})`);
      return `the cache of ${versions.join(', ')} has not seen in ${longestWaitMs / 1_000} s what was written: if that is on another server, pass it to wrote as well (wrote(object, hub))`;
    } finally {
      cancel();
      late.abort();
    }
  }
}
