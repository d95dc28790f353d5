/** A reflector with a cache: one for each resource of a cluster, however many read it. */

import { abortable } from '../../abortable.ts';
import { type BackoffLimits, backoffMs } from '../../backoff.ts';
import { reasonOf } from '../../callbacks.ts';
import { sleep } from '../clock.ts';
import { ask, guard, warn } from '../guard.ts';
import { type KubernetesObject, keyOf } from '../kubernetes-object.ts';
import type { ReflectorEvent } from '../reflect/events.ts';
import {
  type ReflectedResource,
  Reflector,
  type ReflectorContext,
  type ReflectorRestart,
} from '../reflect/reflector.ts';
import { inSlice } from '../reflect/slices.ts';
import { type Change, type InformerEvent, Pending } from './pending.ts';
import { type Indexer, Store } from './store.ts';

/** What an informer is for. Equal options, with the same functions, share one. */
export interface InformerOptions<T extends KubernetesObject = KubernetesObject> extends ReflectedResource {
  /** What is kept of an object, for example without what nobody reads. Name and namespace stay. */
  transform?(object: T): T;
  /** By name: the values under which `byIndex` finds an object. */
  readonly indexers?: Readonly<Record<string, Indexer<T>>>;
}

/** Why an informer does not hear from its server at the moment. */
export interface InformerTrouble {
  /** A stable word, for example `forbidden`. */
  readonly reason: string;
  readonly message: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

const limits: BackoffLimits = { firstMs: 800, longestMs: 30_000, jitter: 1 };
/** How many keys are looked at in one piece. */
const piece = 1_000;

/**
 * The objects of one resource on one cluster, kept up to date until the cluster is disengaged. What is in it was so a moment
 * ago; where the server is away it stays as it was. Objects are shared: do not change them.
 *
 * @example
 * for await (const event of cluster.informer({ apiVersion: 'v1', kind: 'Node' })) console.log(event.type, event.object.metadata.name);
 */
export class Informer<T extends KubernetesObject = KubernetesObject> {
  readonly options: InformerOptions<T>;
  readonly #context: ReflectorContext;
  readonly #signal: AbortSignal;
  readonly #store: Store<T>;
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #restarts: (restart: ReflectorRestart) => void;
  readonly #sync = Promise.withResolvers<void>();
  #hasSynced = false;
  /** The keys that the list under way has named so far; not kept where nothing was cached when it began. */
  #listed: Set<string> | undefined;
  /** An object of the same version is the same object. Not so after the server's data were restored. */
  #versionsCount = true;
  #trouble: InformerTrouble | undefined;

  /** @internal Made by `Cluster.informer`. */
  constructor(
    options: InformerOptions<T>,
    context: ReflectorContext,
    signal: AbortSignal,
    restarts: (restart: ReflectorRestart) => void = () => {},
  ) {
    this.options = options;
    this.#context = context;
    this.#signal = signal;
    this.#restarts = restarts;
    this.#store = new Store(guardedIndexers(options.indexers ?? {}, context));
    // Whoever does not ask whether it has synced need not hear that it never will.
    this.#sync.promise.catch(() => undefined);
    signal.addEventListener('abort', () => this.#sync.reject(signal.reason), { once: true });
    this.#run();
  }

  /** The first list is complete. Before it `get` and `list` know a part. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Why the server is not heard from at the moment; what is cached stays readable. */
  get trouble(): InformerTrouble | undefined {
    return this.#trouble;
  }

  /** Resolves when the first list is complete. Rejects with the reason where the cluster is disengaged, or `signal` aborts, before. */
  synced({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    return abortable(() => this.#sync.promise, signal);
  }

  get(name: string, namespace?: string): T | undefined {
    return this.#store.get(namespace === undefined || namespace === '' ? name : `${namespace}/${name}`);
  }

  /** @internal By `namespace/name`. */
  getByKey(key: string): T | undefined {
    return this.#store.get(key);
  }

  /** All of them, or those of a namespace. */
  list(namespace?: string): readonly T[] {
    const all = this.#store.list();
    return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
  }

  /** Those that the indexer of this name has put under this value. Throws a `TypeError` for an index that is not there. */
  byIndex(index: string, value: string): readonly T[] {
    return this.#store.byIndex(index, value);
  }

  /**
   * What is there, and then what changes. Each loop sees all of it, at its own pace: a slow one gets the changes of one object
   * as one event. Ends when the cluster is disengaged.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<InformerEvent<T>, void> {
    const pending = new Pending<T>();
    for (const key of this.#store.keys()) {
      pending.add({ key, before: undefined, after: this.#store.get(key), initial: true });
    }
    const unsubscribe = this.subscribe((change) => pending.add(change));
    const wake = () => pending.wake();
    this.#signal.addEventListener('abort', wake, { once: true });
    try {
      while (!this.#signal.aborted) {
        if (pending.size === 0) await pending.changed();
        else yield* pending.take();
      }
    } finally {
      unsubscribe();
      this.#signal.removeEventListener('abort', wake);
    }
  }

  /** @internal Told of each change at once. Returns what ends it. */
  subscribe(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Begins again after a fault of its own, as after one of the server. Never rejects. */
  async #run(): Promise<void> {
    const { clock, logger, fields } = this.#context;
    for (let failures = 1; !this.#signal.aborted; failures++) {
      try {
        await this.#reflect();
      } catch (error) {
        const message = `the informer of ${this.options.kind} begins again, which is a fault of this package or of transform: ${reasonOf(error)}`;
        warn(logger, fields, message);
        this.#trouble = { reason: 'other', message, since: clock.now() };
        this.#versionsCount = false;
        const afterMs = backoffMs(failures, limits);
        this.#restarts({ reason: 'other', error: new Error(message), afterMs });
        await sleep(clock, afterMs, this.#signal).catch(() => undefined);
      }
    }
  }

  async #reflect(): Promise<void> {
    const { clock } = this.#context;
    const reflector = new Reflector<T>(this.options, this.#context, {
      opened: () => {
        this.#trouble = undefined;
      },
      restarts: (restart) => {
        const { reason, error, afterMs } = restart;
        if (afterMs > 0)
          this.#trouble = { reason, message: reasonOf(error), since: this.#trouble?.since ?? clock.now() };
        this.#restarts(restart);
      },
      doubtful: () => {
        this.#versionsCount = false;
      },
    });
    for await (const events of reflector.run(this.#signal)) {
      for (const event of events) {
        if (event.type === 'InitDone') await this.#endList();
        else this.#take(event);
      }
    }
  }

  #take(event: Exclude<ReflectorEvent<T>, { type: 'InitDone' }>): void {
    if (event.type === 'Init') {
      this.#listed = this.#store.size === 0 ? undefined : new Set();
      return;
    }
    const { type, object } = event;
    const key = keyOf(object);
    if (type === 'Delete') {
      this.#listed?.delete(key);
      this.#delete(key, this.#transformed(object));
      return;
    }
    this.#listed?.add(key);
    const before = this.#store.get(key);
    const { uid, resourceVersion } = object.metadata;
    if (
      before &&
      (this.#versionsCount || !this.#listed) &&
      resourceVersion !== undefined &&
      before.metadata.resourceVersion === resourceVersion &&
      before.metadata.uid === uid
    )
      return;
    const after = this.#transformed(object);
    if (!after) {
      // As in client-go the object stays as it was: who is told that it is gone would clean up after one that is there.
      if (before?.metadata.uid !== uid) this.#delete(key, undefined);
      return;
    }
    this.#store.set(key, after);
    this.#tell({ key, before, after, initial: !this.#hasSynced });
  }

  /** What the list has not named is gone. */
  async #endList(): Promise<void> {
    const listed = this.#listed;
    this.#listed = undefined;
    const keys = this.#store.keys();
    this.#versionsCount = true;
    for (let rest = listed ? this.#store.size : 0; rest > 0; rest -= piece) {
      await inSlice(() => {
        for (let i = 0; i < piece; i++) {
          const { done, value } = keys.next();
          if (done) return;
          if (listed?.has(value) === false) this.#delete(value, undefined);
        }
      });
    }
    if (this.#hasSynced) return;
    this.#hasSynced = true;
    this.#sync.resolve();
  }

  #delete(key: string, last: T | undefined): void {
    const before = this.#store.get(key);
    if (!before) return;
    this.#store.delete(key);
    this.#tell({ key, before, after: undefined, gone: last ?? before, initial: false });
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
        if (typeof Object(Object(kept).metadata).name === 'string') return kept as T; // what is in it is the author's
        throw new TypeError('it returned no object with metadata');
      },
    );
  }

  #tell(change: Change<T>): void {
    const { logger, fields } = this.#context;
    for (const listener of this.#listeners) {
      guard(logger, { ...fields, object: change.key }, `a listener for ${this.options.kind} ${change.key}`, () =>
        listener(change),
      );
    }
  }
}

function textsOf(values: unknown): readonly string[] {
  if (Array.isArray(values) && values.every((value) => typeof value === 'string')) return [...values];
  throw new TypeError('it returned no list of texts');
}

/** An indexer that throws finds the object under nothing. */
function guardedIndexers<T extends KubernetesObject>(
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
