/** A controller in one place: changes of its sources become requests in the queue of the place. */
import { type KubernetesObject, keyOf, keyOfName } from '../../rest/api/kubernetes-object.ts';
import type { Cluster } from '../cluster.ts';
import { ask, type LogFields } from '../guard.ts';
import type { Informer } from '../informer/informer.ts';
import type { ClusterChange } from '../membership/reach.ts';
import { inTurns } from '../reflect/turns.ts';
import type { ReconcileTrigger } from '../telemetry.ts';
import type { ClusterQueue } from './cluster-queue.ts';
import type { ReconcileRequest } from './options.ts';
import type { ControllerContext, Place } from './place.ts';
import { readRequests } from './requests.ts';
import { type ControllerSettings, informerOf, type Source } from './settings.ts';
import { Written } from './written.ts';

/** Whether the item with this key is meant. */
type Affects = (key: string) => boolean;

/** Objects that are handled in one turn of the event loop. */
const atOnce = 200;

export class Attachment {
  readonly place: Place;
  readonly queue: ClusterQueue<ReconcileRequest>;
  /** The caches of the reconciled objects: one, or one for each namespace. */
  readonly mains: readonly Informer[];
  readonly written: Written;
  /** All running reconciles, except abandoned ones. */
  readonly running = new Set<Promise<unknown>>();
  readonly #settings: ControllerSettings;
  readonly #context: ControllerContext;
  /** Clusters that lead to reconciles of objects of the hub. */
  readonly #followed = new Set<Cluster>();
  /** Of each source that it follows now: queues what the source has for the keys that `affects` names. */
  readonly #queueExisting = new Set<(affects: Affects) => unknown>();

  constructor(
    place: Place,
    queue: ClusterQueue<ReconcileRequest>,
    settings: ControllerSettings,
    context: ControllerContext,
  ) {
    this.place = place;
    this.queue = queue;
    this.#settings = settings;
    this.#context = context;
    this.mains = settings.sources
      .filter(({ role }) => role === 'for')
      .map((source) => informerOf(place.informers, source));
    this.written = new Written((server) => this.#cachesOf(server), context.clock);
    place.signal.addEventListener('abort', () => queue.close(), { once: true });
  }

  /** Queues existing objects, and changes from then on. Opens the queue when the existing ones are in it. Rejects only if the place ends. */
  async start(): Promise<void> {
    const { hub } = this.#context;
    const { cluster, signal, informers } = this.place;
    const { sources, fleetWatches } = this.#settings;
    // Other clusters are followed when they are engaged.
    const followed = sources
      .filter(({ on }) => on === 'hub' || cluster)
      .map((source) => ({ source, informer: informerOf(source.on === 'hub' ? hub.informers : informers, source) }));
    // The others need to know whether the reconciled objects have namespaces.
    for (const isMain of [true, false]) {
      const group = followed.filter(({ source }) => (source.role === 'for') === isMain);
      await Promise.all(
        group.flatMap(({ source, informer }) => [this.#follow(source, informer, cluster), informer.synced({ signal })]),
      );
      // A listener that is added after the end would never be removed from the hub's caches.
      signal.throwIfAborted();
    }
    for (const watch of fleetWatches) this.#followFleet(watch);
    this.queue.resume();
  }

  /** Queues objects of the hub for what happens on an engaged cluster. Its caches end with it. */
  followCluster(cluster: Cluster): void {
    this.#followed.add(cluster);
    cluster.signal.addEventListener('abort', () => this.#followed.delete(cluster), { once: true });
    for (const source of this.#settings.sources)
      if (source.on === 'clusters') void this.#follow(source, informerOf(cluster.informers, source), cluster);
  }

  /** Queues what has become this process's on the hub, from all sources: a watch may name an object that is to be made. */
  ownersChanged(affects: Affects): void {
    for (const queue of this.#queueExisting) void queue(affects);
  }

  /** Queues an item. Returns `false` if another process reconciles it. */
  add(request: ReconcileRequest, trigger: ReconcileTrigger, affects: Affects = () => true): boolean {
    const key = keyOfName(request);
    if (!affects(key) || !this.place.owns(key)) return false;
    this.queue.add(key, request, trigger.reason === 'start' ? 'initial' : 'change', trigger);
    return true;
  }

  /** Queues requests for the existing objects, and for relevant changes from now on. Resolves when all existing ones are queued. */
  #follow(source: Source, informer: Informer, cluster: Cluster | undefined): Promise<void> {
    const { logger } = this.#context;
    const { role, on, when, resource } = source;
    const { apiVersion, kind } = resource;
    const ofCluster = cluster && on === 'clusters' ? { cluster: cluster.name } : {};
    const origin = { source: role, ...ofCluster, apiVersion, kind };
    const fields = this.#fields(cluster);
    const areNamespaced = this.mains.some(({ isNamespaced }) => isNamespaced);
    const queue = (object: KubernetesObject, trigger: ReconcileTrigger, affects?: Affects) => {
      const key = keyOf(object);
      const call = () => source.requestsOf(object, cluster, areNamespaced);
      const requests = ask(logger, { ...fields, object: key }, `map of ${kind} ${key}`, call, readRequests) ?? [];
      for (const request of requests) this.add(request, trigger, affects);
    };
    const queueExisting = (affects?: Affects) =>
      inTurns(informer, informer.list(), atOnce, (object) =>
        queue(object, { reason: 'start', ...origin, object: keyOf(object) }, affects),
      );
    const unsubscribe = informer.subscribe(({ key, before, after, gone, initial }) => {
      // New and deleted objects always count, also if one of the same name has replaced another. A predicate that throws hides nothing.
      if (when && before && after && before.metadata.uid === after.metadata.uid) {
        const call = () => when(before, after);
        if (ask(logger, { ...fields, object: key }, `when of ${kind} ${key}`, call, readVerdict) === false) return;
      }
      const event = !before ? 'Added' : after ? 'Modified' : 'Deleted';
      const trigger = { reason: initial ? 'start' : 'event', ...origin, object: key, event } as const;
      for (const object of [before, after ?? gone]) if (object) queue(object, trigger);
    });
    this.#until((cluster ?? this.place).signal, queueExisting, unsubscribe);
    return queueExisting();
  }

  /** Queues the requests that `map` returns for each change of a cluster of this replica. */
  #followFleet({ graceMs, map }: ControllerSettings['fleetWatches'][number]): void {
    const { logger } = this.#context;
    const queue = (change: ClusterChange, reason: 'start' | 'event', affects?: Affects) => {
      const { cluster, type } = change;
      const fields = { ...this.#fields(), cluster };
      const requests = ask(logger, fields, `map of ${type} ${cluster}`, () => map(change), readRequests) ?? [];
      const trigger = { reason, source: 'watches', cluster, event: type } as const;
      for (const request of requests) this.add(request, trigger, affects);
    };
    let hasBegun = false;
    const reach = this.#context.reach(graceMs, (change) => queue(change, hasBegun ? 'event' : 'start'));
    hasBegun = true;
    const queueExisting = (affects: Affects) => {
      for (const change of reach.told) queue(change, 'start', affects);
    };
    this.#until(this.place.signal, queueExisting, () => {});
  }

  /** Follows a source until the signal aborts. */
  #until(signal: AbortSignal, queueExisting: (affects: Affects) => unknown, end: () => void): void {
    this.#queueExisting.add(queueExisting);
    const stop = () => {
      end();
      this.#queueExisting.delete(queueExisting);
    };
    signal.addEventListener('abort', stop, { once: true });
  }

  #fields(cluster?: Cluster): LogFields {
    return { controller: this.#settings.name, ...(cluster ? { cluster: cluster.name } : this.place.fields) };
  }

  /** The caches that a reconcile has of one server, of its own place by default: versions of two servers cannot be compared. */
  #cachesOf(server: object | undefined): readonly Informer[] {
    const { hub, hubPlace } = this.#context;
    const { cluster } = this.place;
    const isHub = server ? hub.hasDispatcher(server) : !cluster;
    const clusters = cluster ? [cluster] : [...this.#followed];
    const at = isHub ? hubPlace : clusters.find(({ config }) => !server || config.dispatcher === server);
    if (!at || at.signal.aborted) return [];
    const there = this.#settings.sources.filter(({ on }) => on === (isHub ? 'hub' : 'clusters'));
    return there.map((source) => informerOf(at.informers, source));
  }
}

function readVerdict(returned: unknown): boolean {
  if (typeof returned === 'boolean') return returned;
  throw new TypeError('it returned neither true nor false, and counts as true');
}
