/** A controller: changes on the clusters come in, calls of the reconcile function go out. */

import { keyOfName } from '../../rest/api/kubernetes-object.ts';
import type { Cluster } from '../cluster.ts';
import type { LogFields } from '../guard.ts';
import type { Informer } from '../informer/informer.ts';
import type { ClusterChange, Reach } from '../membership/reach.ts';
import { inTurn } from '../reflect/turns.ts';
import type { ClusterQueue, Job } from './cluster-queue.ts';
import { type FollowContext, follow, followWatch } from './event-sources.ts';
import type { EnqueueRequest, ReconcileRequest } from './options.ts';
import { type Attachment, clusterPlace, type HubPlace, type Place } from './place.ts';
import { ControllerLog, Reconciler, type ReconcilerContext } from './reconciler.ts';
import { readEnqueueRequest } from './requests.ts';
import { type ControllerSettings, informerOf } from './settings.ts';
import { WorkQueue } from './work-queue.ts';
import { Written } from './written.ts';

export interface ControllerContext extends ReconcilerContext {
  readonly hubPlace: HubPlace;
  /** Reports the state of this replica's clusters: the current one, and each change that lasts. */
  reach(graceMs: number, tell: (change: ClusterChange) => void): Reach;
}

export class Controller {
  readonly name: string;
  readonly #settings: ControllerSettings;
  readonly #context: ControllerContext;
  readonly #queue: WorkQueue<ReconcileRequest>;
  /** By cluster, or by the hub's place. */
  readonly #attachments = new Map<Cluster | Place, Attachment>();
  readonly #byQueue = new WeakMap<ClusterQueue<ReconcileRequest>, Attachment>();
  /** Clusters that lead to reconciles of objects of the hub. */
  readonly #followed = new Set<Cluster>();
  readonly #log: ControllerLog;
  readonly #reconciler: Reconciler;
  #pumping = false;

  constructor(settings: ControllerSettings, context: ControllerContext) {
    const { name, concurrency, perClusterConcurrency, backoff } = settings;
    this.name = name;
    this.#settings = settings;
    this.#context = context;
    this.#log = new ControllerLog(name, context);
    this.#reconciler = new Reconciler(settings, context, this.#log);
    this.#queue = new WorkQueue({
      clock: context.clock,
      perCluster: perClusterConcurrency,
      places: concurrency,
      backoff: { ...backoff, jitter: 0 },
      ready: () => this.#pump(),
    });
  }

  /** For metrics. */
  get stats() {
    const { name, concurrency } = this.#settings;
    return { name, depth: this.#queue.depth, adds: this.#queue.adds, active: this.#queue.working, concurrency };
  }

  /** Whether objects of the hub are reconciled for what happens on the clusters. */
  get followsClusters(): boolean {
    const { watches, fleetWatches } = this.#settings;
    return fleetWatches.length > 0 || watches.some(({ on }) => on === 'clusters');
  }

  /** Reconciles the objects of a cluster until its signal aborts, or those of the hub that it maps to. */
  attach(cluster: Cluster): void {
    if (this.#settings.for.on !== 'hub') this.#attach(clusterPlace(cluster));
    else this.#followCluster(cluster);
  }

  /** Reconciles the objects of the hub until the fleet ends, if it is a controller of the hub. */
  attachHub(): void {
    const { hubPlace } = this.#context;
    if (this.#settings.for.on === 'hub' && !hubPlace.signal.aborted) this.#attach(hubPlace);
  }

  /** Queues what has become this process's on the hub, from all sources: a watch may name an object that is to be made. */
  ownersChanged(affects: (key: string) => boolean): void {
    const attachment = this.#attachments.get(this.#context.hubPlace);
    for (const queue of attachment?.queueExisting ?? []) void queue(affects);
  }

  /** @internal See `ControllerHandle`. */
  enqueue(request: EnqueueRequest): boolean {
    const { cluster, ...value } = readEnqueueRequest(request, this.name, this.#settings.for.on === 'hub');
    const key = keyOfName(value);
    let isQueued = false;
    for (const { place, queue } of this.#attachments.values()) {
      if ((cluster !== undefined && place.name !== cluster) || place.signal.aborted || !place.owns(key)) continue;
      queue.add(key, value, 'change', { reason: 'enqueue' });
      isQueued = true;
    }
    return isQueued;
  }

  /** Resolves when all reconciles on a cluster, or on the hub, have ended or were given up. The signal of the place has aborted before. */
  async drained(key: Cluster | Place): Promise<void> {
    const attachment = this.#attachments.get(key);
    if (!attachment) return;
    // No reconcile starts any more.
    await Promise.all(attachment.running);
    this.#attachments.delete(key);
  }

  #attach(place: Place): void {
    const queue = this.#queue.queueOf(place.name);
    const attachment: Attachment = {
      place,
      mains: this.#settings.mains.map((source) => informerOf(place.informers, source)),
      queue,
      written: new Written((server) => this.#cachesOf(place, server), this.#context.clock),
      queueExisting: new Set(),
      running: new Set(),
    };
    this.#attachments.set(place.cluster ?? place, attachment);
    this.#byQueue.set(queue, attachment);
    this.#start(attachment);
    place.signal.addEventListener('abort', () => queue.close(), { once: true });
  }

  /** The caches that a reconcile in a place has of one server: versions of two servers cannot be compared. */
  #cachesOf(place: Place, server: object | undefined): readonly Informer[] {
    const { for: main, mains, owns, watches } = this.#settings;
    const { hub, hubPlace } = this.#context;
    const isHub = server ? hub.hasDispatcher(server) : !place.cluster;
    const cluster = isHub ? undefined : server === undefined ? place.cluster : this.#clusterOf(place, server);
    const at = isHub ? hubPlace : cluster;
    if (!at || at.signal.aborted) return [];
    const isOwn = cluster === place.cluster;
    const others = isHub ? 'hub' : 'clusters';
    const sources = isOwn
      ? [...mains, ...owns, ...watches.filter(({ on }) => on === undefined || on === main.on)]
      : watches.filter(({ on }) => on === others);
    return sources.map((source) => informerOf(at.informers, source));
  }

  #clusterOf({ cluster }: Place, dispatcher: object): Cluster | undefined {
    return [cluster, ...this.#followed].find((one) => one?.config.dispatcher === dispatcher);
  }

  /** Queues objects of the hub for what happens on an engaged cluster. Its caches end with it. */
  #followCluster(cluster: Cluster): void {
    const attachment = this.#attachments.get(this.#context.hubPlace);
    const followed = this.#settings.watches
      .filter(({ on }) => on === 'clusters')
      .map((watch) => ({ watch, informer: informerOf(cluster.informers, watch) }));
    // Before the start the caches are filled.
    if (!attachment) return;
    this.#followed.add(cluster);
    cluster.signal.addEventListener('abort', () => this.#followed.delete(cluster), { once: true });
    const context = this.#followContext({ cluster: cluster.name }, cluster.signal);
    for (const { watch, informer } of followed) void followWatch(attachment, watch, informer, cluster, context);
  }

  #followContext(fields: LogFields, signal: AbortSignal): FollowContext {
    const { hub, logger, reach } = this.#context;
    return { hub, logger, reach, fields: { controller: this.name, ...fields }, signal };
  }

  /** Attaches the event sources, unless the place ends before. Never rejects. */
  async #start(attachment: Attachment): Promise<void> {
    const { fields, signal } = attachment.place;
    const followed = follow(attachment, this.#settings, this.#followContext(fields, signal));
    await followed.then(
      () => attachment.queue.resume(),
      () => undefined,
    );
  }

  /** Starts as many reconciles as there are slots, some in each turn of the event loop. */
  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    // After everything that is queued in this turn.
    queueMicrotask(async () => {
      try {
        for (let job = this.#queue.take(); job; job = this.#queue.take()) {
          const taken = job;
          await inTurn(this, 0, () => this.#begin(taken));
        }
      } finally {
        this.#pumping = false;
      }
    });
  }

  #begin(job: Job<ReconcileRequest>): void {
    const attachment = this.#byQueue.get(job.queue);
    if (!attachment || attachment.place.signal.aborted) {
      job.release();
      return;
    }
    const tenure = attachment.place.enter(keyOfName(job.value));
    if (!tenure) {
      // Another replica's, and forgotten here.
      job.done({});
      return;
    }
    const running = this.#reconciler.run(job, attachment, tenure).finally(() => {
      attachment.running.delete(running);
      tenure.leave();
    });
    attachment.running.add(running);
  }
}
