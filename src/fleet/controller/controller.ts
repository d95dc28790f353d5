/** The controllers of a fleet: changes on the clusters and the hub come in, calls of the reconcile functions go out. */
import { ConfigurationError, FleetError } from '../../errors/index.ts';
import { keyOfName } from '../../rest/api/kubernetes-object.ts';
import type { Cluster } from '../cluster.ts';
import { inTurn } from '../reflect/turns.ts';
import { Attachment } from './attachment.ts';
import type { ClusterQueue, Job } from './cluster-queue.ts';
import type { ControllerHandle, EnqueueRequest, ReconcileRequest } from './options.ts';
import { type ControllerContext, clusterPlace, type Place } from './place.ts';
import { Reconciler } from './reconciler.ts';
import { readEnqueueRequest } from './requests.ts';
import { type ControllerSettings, informerOf, readController } from './settings.ts';
import { WorkQueue } from './work-queue.ts';

export class Controllers {
  readonly #context: ControllerContext;
  readonly #controllers: Controller[] = [];
  #isRunning = false;

  constructor(context: ControllerContext) {
    this.#context = context;
  }

  /** Adds a controller. It works on the engaged clusters, and on those that are attached from now on. */
  add(options: object): ControllerHandle {
    const settings = readController(options);
    if (this.#context.hubPlace.signal.aborted) {
      const message = `controller ${settings.name} would never run: the fleet has been closed; make a new Fleet for it`;
      throw new FleetError('FLEET_CLOSED', message);
    }
    if (this.#controllers.some(({ name }) => name === settings.name)) {
      const message = `${settings.name} is the name of another controller of this fleet`;
      throw new ConfigurationError('OPTION_INVALID', 'options', [{ path: 'name', message }]);
    }
    const controller = new Controller(settings, this.#context);
    this.#controllers.push(controller);
    if (this.#isRunning) controller.start();
    for (const cluster of this.#context.engaged()) controller.attach(cluster);
    return { enqueue: (request) => controller.enqueue(request) };
  }

  /** Begins with the objects of the hub. */
  start(): void {
    this.#isRunning = true;
    for (const controller of this.#controllers) controller.start();
  }

  /** Begins with an engaged cluster, until its signal aborts. */
  attach(cluster: Cluster): void {
    for (const controller of this.#controllers) controller.attach(cluster);
  }

  /** Objects of the hub with these keys may have become this process's, or another one's. */
  ownersChanged(affects: (key: string) => boolean): void {
    this.#context.hubPlace.ownersChanged(affects);
    for (const controller of this.#controllers) controller.ofHub?.ownersChanged(affects);
  }

  /** Resolves when all reconciles on a cluster, or on the hub, have ended or were given up. The signal of the place has aborted before. */
  async drained(place: Cluster | Place = this.#context.hubPlace): Promise<void> {
    await Promise.all(this.#controllers.map((controller) => controller.drained(place)));
  }

  get stats() {
    return this.#controllers.map(({ stats }) => stats);
  }
}

class Controller {
  readonly name: string;
  readonly #settings: ControllerSettings;
  readonly #context: ControllerContext;
  readonly #queue: WorkQueue<ReconcileRequest>;
  /** By cluster, or by the hub's place. */
  readonly #attachments = new Map<Cluster | Place, Attachment>();
  readonly #byQueue = new WeakMap<ClusterQueue<ReconcileRequest>, Attachment>();
  readonly #reconciler: Reconciler;
  #pumping = false;

  constructor(settings: ControllerSettings, context: ControllerContext) {
    const { name, concurrency, perClusterConcurrency, backoff } = settings;
    this.name = name;
    this.#settings = settings;
    this.#context = context;
    this.#reconciler = new Reconciler(settings, context);
    this.#queue = new WorkQueue({
      clock: context.clock,
      perCluster: perClusterConcurrency,
      slots: concurrency,
      backoff: { ...backoff, jitter: 0 },
      ready: () => this.#pump(),
    });
  }

  get stats() {
    const { name, concurrency } = this.#settings;
    return { name, concurrency, ...this.#queue.stats };
  }

  /** What it does on the hub, where it began. */
  get ofHub(): Attachment | undefined {
    return this.#attachments.get(this.#context.hubPlace);
  }

  /** Reconciles the objects of the hub until the fleet ends, if it is a controller of the hub. */
  start(): void {
    const { on, sources, fleetWatches } = this.#settings;
    const { hubPlace } = this.#context;
    if (on !== 'hub') return;
    const begin = () => {
      if (hubPlace.signal.aborted) return;
      this.#attach(hubPlace);
      for (const cluster of this.#context.engaged()) this.attach(cluster);
    };
    // One that sums up clusters begins when all have been tried: at each start it would write what the first of them say.
    const followsClusters = fleetWatches.length > 0 || sources.some((source) => source.on === 'clusters');
    if (!followsClusters) begin();
    // It rejects if the fleet is closed.
    else this.#context.synced().then(begin, () => undefined);
  }

  /** Reconciles the objects of a cluster until its signal aborts, or those of the hub that it maps to. */
  attach(cluster: Cluster): void {
    if (this.#settings.on !== 'hub') {
      this.#attach(clusterPlace(cluster));
      return;
    }
    // Before the start the caches are filled.
    for (const source of this.#settings.sources) if (source.on === 'clusters') informerOf(cluster.informers, source);
    this.ofHub?.followCluster(cluster);
  }

  enqueue(request: EnqueueRequest): boolean {
    const { cluster, ...value } = readEnqueueRequest(request, this.name, this.#settings.on === 'hub');
    let isQueued = false;
    for (const attachment of this.#attachments.values()) {
      const { name, signal } = attachment.place;
      if ((cluster !== undefined && name !== cluster) || signal.aborted) continue;
      if (attachment.add(value, { reason: 'enqueue' })) isQueued = true;
    }
    return isQueued;
  }

  async drained(place: Cluster | Place): Promise<void> {
    // No reconcile starts any more.
    await Promise.all(this.#attachments.get(place)?.running ?? []);
    this.#attachments.delete(place);
  }

  #attach(place: Place): void {
    const queue = this.#queue.queueOf(place.name);
    const attachment = new Attachment(place, queue, this.#settings, this.#context);
    this.#attachments.set(place.cluster ?? place, attachment);
    this.#byQueue.set(queue, attachment);
    // It rejects if the place ends before.
    attachment.start().catch(() => undefined);
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
