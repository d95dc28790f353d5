/** A reflector with a cache, shared by all readers of a resource on one cluster. */
import { checkArgument, signalOf } from '../../errors/index.ts';
import { type KubernetesObject, keyOf } from '../../rest/api/kubernetes-object.ts';
import { Changes } from '../../util/abortable.ts';
import { ask, guard } from '../guard.ts';
import { isOlder, isVersion, type ReflectorEvent } from '../reflect/events.ts';
import {
  type InformerProblem,
  Reflector,
  type ReflectorContext,
  type ReflectorListener,
} from '../reflect/reflector.ts';
import { inTurns } from '../reflect/turns.ts';
import { ListSize } from './list-size.ts';
import type { InformerEvent, InformerOptions } from './options.ts';
import { type Change, Pending } from './pending.ts';
import { Store } from './store.ts';

/** What an informer reports to the cluster or the hub that it belongs to. `changed`: `hasSynced` or `problem` may have changed. */
export type InformerListener = Omit<ReflectorListener, 'listed'>;

/** A list in progress. New objects enter the cache when it is complete, so that a failed list leaves nothing behind. */
interface Listing<T> {
  readonly size: ListSize;
  /** Keys of cached objects that were listed. */
  readonly known: Set<string>;
  /** Listed objects that are not in the cache. */
  readonly fresh: Map<string, T>;
}

/** How many keys are handled in one piece of work. */
const atOnce = 1_000;

/**
 * Caches the objects of one resource on one cluster, and keeps them up to date until the cluster is disengaged. While the server is
 * unreachable the cache keeps its last state. Objects are shared: do not change them.
 *
 * @example
 * for await (const event of cluster.informer({ apiVersion: 'v1', kind: 'Node' })) console.log(event.type, event.object.metadata.name);
 */
export class Informer<T extends KubernetesObject = KubernetesObject> {
  readonly options: InformerOptions<T>;
  readonly #context: ReflectorContext;
  readonly #reflector: Reflector<T>;
  readonly #signal: AbortSignal;
  readonly #store: Store<T>;
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #listener: InformerListener;
  /** Of the objects, `#version` and `#hasSynced`. */
  readonly #changes = new Changes();
  /** The cache has everything up to this version. It may go back, if a server was restored from a backup. */
  #version: string | undefined;
  #hasSynced = false;
  #listing: Listing<T> | undefined;

  /** @internal Made by `Cluster.informer`. */
  constructor(
    options: InformerOptions<T>,
    context: ReflectorContext,
    signal: AbortSignal,
    listener: InformerListener = {},
  ) {
    this.options = options;
    this.#context = context;
    this.#signal = signal;
    this.#listener = listener;
    this.#store = new Store(options.indexers ?? {}, context);
    signal.addEventListener('abort', this.#changes.tell, { once: true });
    this.#reflector = new Reflector<T>(options, context, {
      listed: (objects, bytes) => this.#listing?.size.add(objects, bytes),
      restarted: (restart) => {
        this.#dropListing();
        listener.restarted?.(restart);
      },
      changed: () => listener.changed?.(),
    });
    this.#reflect();
  }

  /** @internal Whether its objects have namespaces; known once it has synced. */
  get isNamespaced(): boolean {
    return this.#reflector.isNamespaced;
  }

  /** Whether the first list is complete. The cache is empty before that. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Why nothing arrives from the server at the moment. Cached objects stay readable. */
  get problem(): InformerProblem | undefined {
    return this.#reflector.problem;
  }

  /** Resolves when the first list is complete. Rejects with the reason if the cluster is disengaged, or `signal` aborts, before that. */
  synced({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    return this.until(() => this.#hasSynced, signal);
  }

  /**
   * Resolves when the cache has what was written as `resourceVersion`, or something newer: a write returns an object with this version. The
   * versions of one resource on one server are compared as numbers (KEP-5647). It waits for as long as the watch takes: a cache whose
   * selectors leave out what was written may take a minute. Rejects with the reason if the cluster is disengaged, or `signal` aborts.
   *
   * @throws ConfigurationError if `resourceVersion` is not a number
   */
  reached(resourceVersion: string, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    const signal = signalOf('informer.reached', options);
    const what = 'a resourceVersion, which is a number';
    checkArgument('informer.reached', 'resourceVersion', resourceVersion, isVersion, what);
    return this.until(() => this.#version !== undefined && !isOlder(this.#version, resourceVersion), signal);
  }

  /** @internal Resolves when the cache fulfils a condition. Rejects with the reason of the first signal that aborts before. */
  async until(holds: () => boolean, signal: AbortSignal | undefined): Promise<void> {
    await this.#changes.until(() => this.#signal.aborted || holds(), signal);
    if (!holds()) this.#signal.throwIfAborted();
  }

  get(name: string, namespace?: string): T | undefined {
    return this.#store.get(namespace === undefined || namespace === '' ? name : `${namespace}/${name}`);
  }

  /** @internal By `namespace/name`. */
  getByKey(key: string): T | undefined {
    return this.#store.get(key);
  }

  /** Returns all objects, or those of a namespace. */
  list(namespace?: string): readonly T[] {
    const all = this.#store.list();
    return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
  }

  /**
   * Returns the objects for which this indexer returned this value.
   * @throws {TypeError} if there is no indexer of this name
   */
  byIndex(index: string, value: string): readonly T[] {
    return this.#store.byIndex(index, value);
  }

  /** Returns the objects whose controller, by their owner references, is `owner`. The first call makes an index. */
  childrenOf({ metadata: { uid = '' } }: { readonly metadata: { readonly uid?: string | undefined } }): readonly T[] {
    return this.#store.childrenOf(uid);
  }

  /**
   * Yields the cached objects, then their changes. Each loop sees every object at its own pace: a slow loop gets several changes of one
   * object as one event. Ends when the cluster is disengaged.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<InformerEvent<T>, void> {
    const pending = new Pending<T>();
    for (const key of this.#store.keys()) {
      pending.add({ key, before: undefined, after: this.#store.get(key) });
    }
    const unsubscribe = this.subscribe((change) => pending.add(change));
    try {
      while (!this.#signal.aborted) {
        yield* pending.take();
        await this.#changes.until(() => this.#signal.aborted || pending.size > 0);
      }
    } finally {
      unsubscribe();
    }
  }

  /** @internal Calls `listener` at each change, synchronously. Returns the function that unsubscribes it. */
  subscribe(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #reflect(): Promise<void> {
    for await (const events of this.#reflector.run(this.#signal)) {
      for (const event of events) {
        if (event.type === 'InitDone') await this.#endList();
        else this.#take(event);
      }
      this.#version = this.#reflector.version ?? this.#version;
      this.#changes.tell();
    }
  }

  #take(event: Exclude<ReflectorEvent<T>, { type: 'InitDone' }>): void {
    if (event.type === 'Init') {
      this.#dropListing();
      this.#listing = { size: new ListSize(this.options), known: new Set(), fresh: new Map() };
      return;
    }
    const { type, object } = event;
    const key = keyOf(object);
    const listing = this.#listing;
    if (type === 'Delete') {
      listing?.known.delete(key);
      listing?.fresh.delete(key);
      this.#delete(key, this.#transformed(object));
      return;
    }
    const before = this.#store.get(key);
    if (before) listing?.known.add(key);
    const { uid, resourceVersion } = object.metadata;
    if (before && before.metadata.resourceVersion === resourceVersion && before.metadata.uid === uid) return;
    const after = this.#transformed(object);
    if (!after) {
      // As in client-go the cached object stays: a delete event would make controllers clean up after an object that exists.
      if (before?.metadata.uid !== uid) this.#delete(key, undefined);
      return;
    }
    if (listing && !before) listing.fresh.set(key, after);
    else this.#set(key, before, after);
  }

  /** Deletes the objects that were not listed, and adds the new ones to the cache. */
  async #endList(): Promise<void> {
    const listing = this.#listing;
    if (listing) {
      const { server } = this.#context;
      await inTurns(server, this.#store.keys(), atOnce, (key) => {
        if (!listing.known.has(key)) this.#delete(key, undefined);
      });
      await inTurns(server, listing.fresh, atOnce, ([key, object]) => this.#set(key, undefined, object));
    }
    this.#dropListing();
    this.#hasSynced = true;
    this.#changes.tell();
    this.#listener.changed?.();
  }

  #dropListing(): void {
    this.#listing?.size.end();
    this.#listing = undefined;
  }

  #set(key: string, before: T | undefined, after: T): void {
    this.#store.set(key, after);
    this.#notify({ key, before, after, initial: !this.#hasSynced });
  }

  #delete(key: string, last: T | undefined): void {
    const before = this.#store.get(key);
    if (!before) return;
    this.#store.delete(key);
    this.#notify({ key, before, after: undefined, gone: last ?? before, initial: false });
  }

  #transformed(object: T): T | undefined {
    const { transform } = this.options;
    if (!transform) return object;
    const { logger, fields } = this.#context;
    return ask(
      logger,
      { ...fields, object: keyOf(object) },
      `transform of ${object.kind} ${keyOf(object)}`,
      () => transform(object),
      (kept) => {
        if (typeof Object(Object(kept).metadata).name === 'string') return kept as T; // its content is the author's responsibility
        throw new TypeError('it returned no object with metadata');
      },
    );
  }

  #notify(change: Change<T>): void {
    const { logger, fields } = this.#context;
    for (const listener of this.#listeners) {
      guard(logger, { ...fields, object: change.key }, `a listener for ${this.options.kind} ${change.key}`, () =>
        listener(change),
      );
    }
    this.#changes.tell();
  }
}
