/** The fleet connects the hub, the lifecycle of each cluster, and the controllers. */
import { checkArgument, FleetError, signalOf } from '../errors/index.ts';
import { askSafely } from '../observability/callbacks.ts';
import { WarningLimiter } from '../observability/warning-limiter.ts';
import type { KindOf, KubernetesObject, TypeOf } from '../rest/api/kubernetes-object.ts';
import type { Preview } from '../rest/request/previewed-writes.ts';
import { Changes } from '../util/abortable.ts';
import { isFunction, isText } from '../util/guards.ts';
import type { Cluster, ClusterListing } from './cluster.ts';
import { Controllers } from './controller/controller.ts';
import type {
  ControllerHandle,
  ControllerOptions,
  ControllerWatches,
  HubControllerOptions,
  HubControllerWatches,
} from './controller/options.ts';
import { HubPlace } from './controller/place.ts';
import { Hub } from './hub.ts';
import { areTried, Clusters } from './membership/clusters.ts';
import { addHandler, type DisengageHandler, type EngageHandler } from './membership/engagement.ts';
import { Membership } from './membership/membership.ts';
import type { Ownership } from './membership/ownership.ts';
import { callersReadiness, controlPlaneReadiness } from './membership/readiness.ts';
import { type FleetOptions, type FleetSettings, parseFleetOptions } from './options.ts';
import { ProfileSource } from './profile-source.ts';
import { ownershipOf } from './sharding/options.ts';

/**
 * The clusters that the ClusterProfiles on a hub describe, with caches and controllers for each. A cluster that hangs or fails delays no
 * other.
 *
 * @example
 * const fleet = new Fleet({ hub, providers, namespaces: ['fleet-system'] });
 * fleet.controller({ name: 'nodes', for: { apiVersion: 'v1', kind: 'Node' }, reconcile: async ({ name }, { cluster }) => {} });
 * await fleet.run({ signal });
 */
export class Fleet {
  /** The hub: its config, and caches of its objects. */
  readonly hub: Hub;
  /** What its reconciles would have written, with `preview: true`. */
  readonly preview: Preview | undefined;
  readonly #settings: FleetSettings;
  readonly #clusters: Clusters;
  readonly #controllers: Controllers;
  readonly #onEngage = new Set<EngageHandler>();
  readonly #onDisengage = new Set<DisengageHandler>();
  readonly #ownership: Ownership;
  readonly #stop = new AbortController();
  /** Aborted when all work has ended. */
  readonly #ended = new AbortController();
  /** `synced` looks again. */
  readonly #changes = new Changes();
  #running: Promise<void> | undefined;

  /**
   * Starts nothing: `run` does.
   *
   * @throws ConfigurationError that names every bad option
   */
  constructor(options: FleetOptions) {
    const settings = parseFleetOptions(options);
    const { providers, preview, clock, logger, metrics, unhealthyGraceMs, engageTimeoutMs } = settings;
    const { select, identify, isReady } = settings;
    this.#settings = settings;
    this.preview = preview;
    const ownership = ownershipOf(settings);
    this.#ownership = ownership;
    const membership = new Membership({
      ...{ select, identify, ownerOf: (key) => ownership.ownerOf(key) },
      resolves: (profile) => 'value' in askSafely(() => providers.resolve(profile), Boolean),
      uptime: () => clock.uptime(),
    });
    const common = { clock, logger, observer: metrics?.observer, changed: this.#changes.tell };
    this.hub = new Hub({ ...common, config: settings.hub, signal: this.#ended.signal });
    const { hub } = this;
    const hubPlace = new HubPlace(hub, ownership, this.#stop.signal);
    this.#controllers = new Controllers({
      ...common,
      hub,
      hubPlace,
      engaged: () => this.#clusters.engaged,
      synced: () => this.synced(),
      reach: (graceMs, tell) => this.#clusters.reach(graceMs, tell),
    });
    const context = {
      ...common,
      providers,
      preview,
      unhealthyGraceMs,
      engageTimeoutMs,
      readinessOf: isReady ? callersReadiness(isReady, logger) : controlPlaneReadiness,
      onEngage: this.#onEngage,
      onDisengage: this.#onDisengage,
      begin: (cluster: Cluster) => this.#controllers.attach(cluster),
      drained: (cluster: Cluster) => this.#controllers.drained(cluster),
      warnings: new WarningLimiter({ logger, clock: () => clock.uptime() }),
    };
    this.#clusters = new Clusters(membership, ownership, context, this.#stop.signal);
    // Also if the fleet is closed before it runs.
    this.#stop.signal.addEventListener('abort', this.#changes.tell, { once: true });
    metrics?.attach({ clusters: () => this.list(), controllers: () => this.#controllers.stats, ownership });
  }

  /**
   * Engages clusters and keeps them engaged until `signal` aborts or `close` is called; then disengages all of them and resolves. Errors of
   * the hub are retried. May be called once.
   *
   * @throws FleetError `FLEET_CLOSED` at a second call
   */
  async run(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    const signal = signalOf('fleet.run', options);
    if (this.#running)
      throw new FleetError('FLEET_CLOSED', 'run has been called before: make a new Fleet to run again');
    const stop = () => this.#stop.abort(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
    this.#running = this.#run().finally(() => {
      signal?.removeEventListener('abort', stop);
      this.#end();
    });
    return this.#running;
  }

  /** Disengages every cluster and ends `run`. Resolves when all work has ended. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Resolves when the hub has been read, every cluster has been tried, and the caches of the engaged ones are filled. Does not wait for
   * what fails.
   *
   * @throws FleetError `FLEET_CLOSED`, or the reason of `signal`
   */
  async synced(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    const signal = signalOf('fleet.synced', options);
    const { signal: stopped } = this.#stop;
    const isSynced = () => this.#ownership.isSettled && areTried(this.hub.informers) && this.#clusters.isSettled;
    await this.#changes.until(() => stopped.aborted || isSynced(), signal);
    if (stopped.aborted) throw new FleetError('FLEET_CLOSED', 'the fleet has been closed');
  }

  /**
   * Calls `handler` with each cluster that is about to be engaged, and with those that are engaged already. The cluster is engaged when
   * all handlers have ended, so do not await long work in them. Dispose of the result to remove the handler.
   */
  onEngage(handler: EngageHandler): Disposable {
    checkArgument('fleet.onEngage', 'handler', handler, isFunction, 'a function');
    const registration = addHandler(this.#onEngage, handler);
    this.#clusters.handlerAdded(handler);
    return registration;
  }

  /**
   * Calls `handler` with each cluster that was engaged and has been let go, when its work has ended, and with the reason. A cluster whose
   * `onEngage` functions failed was never engaged: its signal aborts. Dispose of the result to remove the handler.
   */
  onDisengage(handler: DisengageHandler): Disposable {
    checkArgument('fleet.onDisengage', 'handler', handler, isFunction, 'a function');
    return addHandler(this.#onDisengage, handler);
  }

  /**
   * Reconciles objects on every cluster, or with `for: { ..., on: 'hub' }` on the hub.
   *
   * @throws ConfigurationError that names every bad option, or `FLEET_CLOSED` after the fleet has been closed
   */
  controller<
    T extends KubernetesObject = never,
    const A extends string = string,
    const K extends string = string,
    const M extends boolean = boolean,
    const A1 extends string = string,
    const K1 extends string = string,
    const A2 extends string = string,
    const K2 extends string = string,
  >(
    options: HubControllerOptions<TypeOf<T, A, K, M>, HubControllerWatches<A1, K1, A2, K2>> & {
      readonly for: KindOf<A, K, M>;
    },
  ): ControllerHandle;
  // With a list of watches that is not written in place.
  controller<T extends KubernetesObject>(options: HubControllerOptions<T>): ControllerHandle;
  controller<
    T extends KubernetesObject = never,
    const A extends string = string,
    const K extends string = string,
    const M extends boolean = boolean,
    const A1 extends string = string,
    const K1 extends string = string,
    const A2 extends string = string,
    const K2 extends string = string,
  >(
    options: ControllerOptions<TypeOf<T, A, K, M>, ControllerWatches<A1, K1, A2, K2>> & {
      readonly for: KindOf<A, K, M>;
    },
  ): ControllerHandle;
  controller(options: object): ControllerHandle {
    return this.#controllers.add(options);
  }

  /**
   * Returns the engaged cluster of a ClusterProfile.
   *
   * @param name `namespace/name` of the ClusterProfile
   * @throws FleetError `CLUSTER_NOT_FOUND`, `CLUSTER_NOT_READY` or `CLUSTER_NOT_OWNED`, with the reason
   */
  get(name: string): Cluster {
    checkArgument('fleet.get', 'name', name, isText, 'the name of a ClusterProfile: namespace/name');
    return this.#clusters.get(name);
  }

  /** Returns the engaged clusters, sorted by name. */
  clusters(): readonly Cluster[] {
    return [...this.#clusters.engaged].sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Lists every cluster with its state, sorted by name. */
  list(): readonly ClusterListing[] {
    return this.#clusters.list();
  }

  #end(): void {
    this.#ended.abort(new FleetError('FLEET_CLOSED', 'the fleet has been closed'));
    if (this.preview) void this.#settings.hub.close();
  }

  async #run(): Promise<void> {
    const { providers } = this.#settings;
    const { signal } = this.#stop;
    if (signal.aborted) return;
    const changes = providers.onChange(({ added, changed, removed }) => {
      this.#clusters.providersChanged(new Set([...added, ...changed, ...removed]));
    });
    const ownership = this.#ownership.run((affects) => {
      this.#controllers.ownersChanged(affects);
      this.#clusters.ownersChanged(affects);
    }, signal);
    this.#controllers.start();
    const source = new ProfileSource(this.hub, this.#settings, this.#changes, signal);
    await source.run(this.#clusters);
    changes[Symbol.dispose]();
    // A shard is handed over as soon as its last cluster is disengaged.
    await Promise.all([ownership, this.#clusters.close(), this.#controllers.drained()]);
    this.#changes.tell();
  }
}
