/** The fleet connects the hub, the lifecycle of each cluster, and the controllers. */

import { checkArgument, isFunction, isText, signalOf } from '../errors/check-argument.ts';
import { ConfigurationError, FleetError } from '../errors/index.ts';
import { WarningLimiter } from '../observability/warning-limiter.ts';
import { parseOptionsWith } from '../options/option-schemas.ts';
import type { KubernetesObject } from '../rest/api/kubernetes-object.ts';
import { abortable } from '../util/abortable.ts';
import type { Cluster, ClusterListing } from './cluster.ts';
import { Controller } from './controller/controller.ts';
import { type ControllerOptions, controllerSchema } from './controller/options.ts';
import { Hub } from './hub.ts';
import { Claims } from './membership/claims.ts';
import { ClusterLifecycle, type LifecycleContext } from './membership/cluster-lifecycle.ts';
import { type EngageHandler, EngageHandlers } from './membership/engage-handlers.ts';
import { Membership } from './membership/membership.ts';
import type { Ownership } from './membership/ownership.ts';
import { callersReadiness, controlPlaneReadiness } from './membership/readiness.ts';
import { type FleetOptions, type FleetSettings, parseFleetOptions } from './options.ts';
import { ownershipOf } from './sharding/options.ts';

/** Milliseconds for running reconciles after their cluster was disengaged; then their requests are aborted. */
const drainTimeoutMs = 10_000;

const deleted = 'its ClusterProfile was deleted';

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
  readonly #settings: FleetSettings;
  readonly #membership: Membership;
  readonly #lifecycles = new Map<string, ClusterLifecycle>();
  readonly #controllers: Controller[] = [];
  readonly #handlers: EngageHandlers;
  readonly #context: LifecycleContext;
  readonly #ownership: Ownership;
  readonly #stop = new AbortController();
  readonly #watchers = new Set<() => void>();
  #known = false;
  #running: Promise<void> | undefined;

  /**
   * Starts nothing: `run` does.
   *
   * @throws ConfigurationError that names every bad option
   */
  constructor(options: FleetOptions) {
    this.#settings = parseFleetOptions(options);
    const { providers, clock, logger, metrics, unhealthyGraceMs, engageTimeoutMs, select, identify, isReady } =
      this.#settings;
    const ownership = ownershipOf(this.#settings);
    this.#ownership = ownership;
    this.#membership = new Membership({ select, identify, ownerOf: (key) => ownership.ownerOf(key) });
    this.#handlers = new EngageHandlers(clock, engageTimeoutMs);
    const claims = new Claims();
    this.#context = {
      providers,
      clock,
      logger,
      observer: metrics?.observer,
      unhealthyGraceMs,
      engageTimeoutMs,
      drainTimeoutMs,
      readinessOf: isReady ? callersReadiness(isReady, logger) : controlPlaneReadiness,
      claim: (key, lifecycle) => {
        const claimed = claims.claim(key, lifecycle);
        if (claimed) ownership.enter(key);
        return claimed;
      },
      release: (key, lifecycle) => {
        // Another profile of this cluster may be waiting for it.
        if (claims.release(key, lifecycle)) ownership.leave(key);
      },
      handlers: this.#handlers,
      begin: (cluster) => {
        for (const controller of this.#controllers) controller.attach(cluster);
      },
      drained: async (cluster, deadline) => {
        await Promise.all(this.#controllers.map((controller) => controller.drained(cluster, deadline)));
      },
      problems: (cluster) => this.#controllers.flatMap((controller) => controller.problem(cluster) ?? []),
      warnings: new WarningLimiter({ logger, clock: () => clock.uptime() }),
      changed: () => {
        for (const wake of this.#watchers) wake();
      },
    };
    // Also if the fleet is closed before it runs.
    this.#stop.signal.addEventListener('abort', () => this.#context.changed(), { once: true });
    metrics?.attach({ clusters: () => this.list(), controllers: () => this.#controllers.map(({ stats }) => stats) });
  }

  /**
   * Engages clusters and keeps them engaged until `signal` aborts or `close` is called; then disengages all of them and resolves. Errors of
   * the hub are retried. May be called once.
   *
   * @throws FleetError `FLEET_CLOSED` at a second call, `SHARDS_DIFFER` if other replicas have another number of shards
   */
  run(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const signal = signalOf('fleet.run', options);
    if (this.#running)
      throw new FleetError('FLEET_CLOSED', 'run has been called before: make a new Fleet to run again');
    const stop = () => this.#stop.abort(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
    this.#running = this.#run().finally(() => signal?.removeEventListener('abort', stop));
    return this.#running;
  }

  /** Disengages every cluster and ends `run`. Resolves when all work has ended. */
  async close(): Promise<void> {
    this.#stop.abort();
    // The caller of run gets its error.
    await this.#running?.catch(() => undefined);
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
  async synced(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const signal = signalOf('fleet.synced', options);
    for (;;) {
      if (this.#stop.signal.aborted) throw new FleetError('FLEET_CLOSED', 'the fleet has been closed');
      if (this.#isSynced()) return;
      const { promise: change, resolve } = Promise.withResolvers<void>();
      this.#watchers.add(resolve);
      try {
        await abortable(() => change, signal);
      } finally {
        this.#watchers.delete(resolve);
      }
    }
  }

  /**
   * Calls `handler` with each cluster that is about to be engaged, and with those that are engaged already. The cluster is engaged when
   * all handlers have ended, so do not await long work in them. Dispose of the result to remove the handler.
   */
  onEngage(handler: EngageHandler): Disposable {
    checkArgument('fleet.onEngage', 'handler', handler, isFunction, 'a function');
    const { tell, end } = this.#handlers.add(handler);
    for (const lifecycle of this.#lifecycles.values()) {
      const { cluster } = lifecycle;
      if (cluster) this.#handlers.tellLate(cluster, tell).catch((error) => lifecycle.handlerFailed(cluster, error));
    }
    return { [Symbol.dispose]: end };
  }

  /**
   * Reconciles objects on every cluster.
   *
   * @throws ConfigurationError that names every bad option
   */
  controller<T extends KubernetesObject = KubernetesObject>(options: ControllerOptions<T>): void {
    const settings = parseOptionsWith(controllerSchema, options);
    if (this.#controllers.some(({ name }) => name === settings.name)) {
      const message = `${settings.name} is the name of another controller of this fleet`;
      throw new ConfigurationError('OPTION_INVALID', 'options', [{ path: 'name', message }]);
    }
    const { clock, logger, metrics } = this.#settings;
    // The schema has checked every function; its types are the caller's.
    const typed = settings as typeof settings & Pick<ControllerOptions, 'for' | 'owns' | 'watches' | 'reconcile'>;
    const controller = new Controller(typed as ConstructorParameters<typeof Controller>[0], {
      clock,
      logger,
      observer: metrics?.observer,
      changed: () => this.#context.changed(),
    });
    this.#controllers.push(controller);
    for (const { cluster } of this.#lifecycles.values()) if (cluster) controller.attach(cluster);
  }

  /**
   * Returns the engaged cluster of a ClusterProfile.
   *
   * @param name `namespace/name` of the ClusterProfile
   * @throws FleetError `CLUSTER_NOT_FOUND`, `CLUSTER_NOT_READY` or `CLUSTER_NOT_OWNED`, with the reason
   */
  get(name: string): Cluster {
    checkArgument('fleet.get', 'name', name, isText, 'the name of a ClusterProfile: namespace/name');
    const lifecycle = this.#lifecycles.get(name);
    const cluster = lifecycle?.cluster;
    if (cluster) return cluster;
    if (!lifecycle || lifecycle.isGone)
      throw new FleetError('CLUSTER_NOT_FOUND', this.#whyMissing(name), { cluster: name });
    const { state, reason, message, owner } = lifecycle.status;
    const code = state === 'NotOwned' ? 'CLUSTER_NOT_OWNED' : 'CLUSTER_NOT_READY';
    const whose = owner === undefined ? '' : ` (owner: ${owner})`;
    throw new FleetError(code, `${name} cannot be used${whose}: it is ${state} (${reason}): ${message}`, {
      cluster: name,
      reason,
      ...(owner === undefined ? {} : { owner }),
    });
  }

  /** Lists every cluster, sorted by name. */
  list(): readonly ClusterListing[] {
    const lifecycles = [...this.#lifecycles.values()].filter(({ isGone }) => !isGone);
    return lifecycles
      .map((lifecycle) => ({ name: lifecycle.name, ...lifecycle.status }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  async #run(): Promise<void> {
    const { hub, namespaces, labelSelector, placement, clock, logger, metrics, providers } = this.#settings;
    const { signal } = this.#stop;
    if (signal.aborted) return;
    const changes = providers.onChange(({ added, changed, removed }) => {
      const types = new Set([...added, ...changed, ...removed]);
      for (const lifecycle of this.#lifecycles.values()) lifecycle.providersChanged(types);
    });
    let failure: { readonly error: unknown } | undefined;
    const failed = (error: unknown) => {
      failure ??= { error };
      this.#stop.abort(error);
    };
    const ownership = this.#ownership
      .run({ changed: (affects) => this.#apply(this.#membership.namesOf(affects)) }, signal)
      .catch(failed);
    const source = new Hub({
      hub,
      namespaces,
      labelSelector,
      placement,
      clock,
      logger,
      observer: metrics?.observer,
      signal,
    });
    await source
      .run({
        profile: (name, profile) =>
          this.#apply(profile ? this.#membership.set(name, profile) : this.#membership.delete(name)),
        placed: (clusters) => this.#apply(this.#membership.place(clusters)),
        known: () => {
          this.#known = true;
          this.#context.changed();
        },
      })
      .catch(failed);
    changes[Symbol.dispose]();
    // A shard is handed over as soon as its last cluster is disengaged.
    const lifecycles = [...this.#lifecycles.values()].map((lifecycle) =>
      lifecycle.remove('FLEET_CLOSED', 'the fleet ends'),
    );
    await Promise.all([ownership, ...lifecycles]);
    this.#context.changed();
    if (failure) throw failure.error;
  }

  /** Applies the current verdicts of these profiles to their lifecycles. */
  #apply(names: Iterable<string>): void {
    if (this.#stop.signal.aborted) return;
    for (const name of [...names]) {
      const profile = this.#membership.profile(name);
      const verdict = this.#membership.verdict(name);
      const lifecycle = this.#lifecycles.get(name);
      if (!profile || !verdict) {
        if (lifecycle && !lifecycle.isGone) {
          const why = this.#membership.whyLeft(name);
          this.#remove(lifecycle, why === undefined ? 'PROFILE_DELETED' : 'NOT_SELECTED', why ?? deleted);
        }
      } else if (!lifecycle) {
        const added = new ClusterLifecycle(name, profile, this.#context);
        this.#lifecycles.set(name, added);
        added.update(profile, verdict);
      } else {
        lifecycle.update(profile, verdict);
      }
    }
    this.#context.changed();
  }

  #remove(lifecycle: ClusterLifecycle, reason: string, message: string): void {
    lifecycle.remove(reason, message).then(() => {
      if (this.#lifecycles.get(lifecycle.name) === lifecycle) this.#lifecycles.delete(lifecycle.name);
      // The profile may have been created again meanwhile.
      this.#apply([lifecycle.name]);
    });
  }

  #isSynced(): boolean {
    if (!this.#known || !this.#ownership.isSettled) return false;
    return [...this.#lifecycles.values()].every(({ isSettled, cluster, isGone }) => {
      if (isGone) return true;
      return isSettled && [...(cluster?.informers ?? [])].every(({ hasSynced, problem }) => hasSynced || problem);
    });
  }

  #whyMissing(name: string): string {
    if (this.#stop.signal.aborted) return `${name} cannot be used: the fleet has been closed`;
    const left = this.#membership.whyLeft(name) ?? (this.#lifecycles.has(name) ? deleted : undefined);
    if (left !== undefined) return `${name} is not in the fleet: ${left}`;
    return `${name} is not in the fleet${this.#known ? '' : ': the hub has not been read yet'}`;
  }
}
