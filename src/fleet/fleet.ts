/**
 * The fleet: ClusterProfiles on a hub come in, clusters that are in use and calls of reconcile functions go out. It joins the
 * hub, the members and the controllers, each of which does its work by itself.
 */

import { abortable } from '../abortable.ts';
import { nearest } from '../access/nearest.ts';
import { checkArgument, isFunction, isText, signalOf } from '../argument.ts';
import { reasonOf } from '../callbacks.ts';
import { ConfigurationError, FleetError } from '../errors.ts';
import { parseOptionsWith } from '../option-schemas.ts';
import type { Cluster } from './cluster.ts';
import { Controller } from './controller/controller.ts';
import { type ControllerOptions, controllerSchema } from './controller/options.ts';
import { warn } from './guard.ts';
import { Hub } from './hub.ts';
import type { KubernetesObject } from './kubernetes-object.ts';
import { Claims } from './membership/claims.ts';
import { type EngageHandler, EngageHandlers } from './membership/engage-handlers.ts';
import { Member, type MemberContext } from './membership/member.ts';
import { Membership } from './membership/membership.ts';
import type { Ownership } from './membership/ownership.ts';
import { callersReadiness, controlPlaneReadiness } from './membership/readiness.ts';
import { type FleetOptions, type FleetSettings, parseFleetOptions } from './options.ts';
import { ownershipOf } from './sharding/options.ts';
import type { ClusterState } from './telemetry.ts';

/** The state of a cluster of the fleet. */
export interface ClusterListing {
  /** `namespace/name` of its ClusterProfile. */
  readonly name: string;
  readonly state: ClusterState;
  /** A stable code. */
  readonly reason: string;
  readonly message: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** Who works on it, where that is somebody else. */
  readonly owner?: string;
}

/** Milliseconds that reconciles may take to end when their cluster is disengaged; then their requests are ended. */
const drainTimeoutMs = 10_000;

const deleted = 'its ClusterProfile was deleted';

/**
 * All clusters that ClusterProfiles on a hub describe: which can be used, caches of what is on them, and controllers that work
 * on them. A cluster that hangs or fails delays no other.
 *
 * @example
 * const fleet = new Fleet({ hub, providers, namespaces: ['fleet-system'] });
 * fleet.controller({ name: 'nodes', for: { apiVersion: 'v1', kind: 'Node' }, reconcile: async ({ name }, { cluster }) => {} });
 * await fleet.run({ signal });
 */
export class Fleet {
  readonly #settings: FleetSettings;
  readonly #membership: Membership;
  readonly #members = new Map<string, Member>();
  readonly #controllers: Controller[] = [];
  readonly #handlers: EngageHandlers;
  readonly #context: MemberContext;
  readonly #ownership: Ownership;
  readonly #stop = new AbortController();
  readonly #watchers = new Set<() => void>();
  #known = false;
  #running: Promise<void> | undefined;

  /** Throws a `ConfigurationError` that names every bad option. Nothing begins before `run`. */
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
      claim: (key, member) => {
        const claimed = claims.claim(key, member);
        if (claimed) ownership.enter(key);
        return claimed;
      },
      release: (key, member) => {
        // Another member with this key goes on where this one was.
        if (claims.release(key, member)) ownership.leave(key);
      },
      handlers: this.#handlers,
      begin: (cluster) => {
        for (const controller of this.#controllers) controller.attach(cluster);
      },
      drained: async (cluster, drain) => {
        await Promise.all(this.#controllers.map((controller) => controller.drained(cluster, drain)));
      },
      troubles: (cluster) => this.#controllers.flatMap((controller) => controller.trouble(cluster) ?? []),
      changed: () => {
        for (const tell of this.#watchers) tell();
      },
    };
    // Also where it ends before it has run.
    this.#stop.signal.addEventListener('abort', () => this.#context.changed(), { once: true });
    metrics?.attach({ clusters: () => this.list(), controllers: () => this.#controllers.map(({ stats }) => stats) });
  }

  /**
   * Engages clusters and keeps them engaged until `signal` aborts or `close` is called; then disengages every one and returns.
   * Whatever the hub answers, it goes on. Once for each fleet. Rejects with `SHARDS_DIFFER` where other replicas believe in
   * another number of shards.
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

  /** Disengages every cluster, and ends `run`. Resolves when nothing goes on any more. */
  async close(): Promise<void> {
    this.#stop.abort();
    // Who called run is told of its failure.
    await this.#running?.catch(() => undefined);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Resolves when the hub has been read, every cluster has been tried, and the caches of those that are in use are there. What
   * fails is not waited for. Rejects with the signal's reason, or with `FLEET_CLOSED`.
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
   * Tells of each cluster that is taken into use, those that are there already too. The function may be async; the cluster is
   * engaged when it has ended, so it must not wait for what lasts. Returns what ends the telling.
   */
  onEngage(handler: EngageHandler): Disposable {
    checkArgument('fleet.onEngage', 'handler', handler, isFunction, 'a function');
    const { tell, end } = this.#handlers.add(handler);
    for (const member of this.#members.values()) {
      const { cluster } = member;
      if (cluster) this.#handlers.tellLate(cluster, tell).catch((error) => member.handlerFailed(cluster, error));
    }
    return { [Symbol.dispose]: end };
  }

  /** Reconciles objects on every cluster. Throws a `ConfigurationError` that names every bad option. */
  controller<T extends KubernetesObject = KubernetesObject>(options: ControllerOptions<T>): void {
    const settings = parseOptionsWith(controllerSchema, options);
    if (this.#controllers.some(({ name }) => name === settings.name)) {
      const message = `${settings.name} is the name of another controller of this fleet`;
      throw new ConfigurationError('OPTION_INVALID', 'options', [{ path: 'name', message }]);
    }
    const { clock, logger, metrics } = this.#settings;
    // The schema has looked at every function; its types are the author's.
    const typed = settings as typeof settings & Pick<ControllerOptions, 'for' | 'owns' | 'watches' | 'reconcile'>;
    const controller = new Controller(typed as ConstructorParameters<typeof Controller>[0], {
      clock,
      logger,
      observer: metrics?.observer,
      changed: () => this.#context.changed(),
    });
    this.#controllers.push(controller);
    for (const { cluster } of this.#members.values()) if (cluster) controller.attach(cluster);
  }

  /** The cluster of a ClusterProfile (`namespace/name`). Throws a `FleetError` where it cannot be used, with the reason. */
  get(name: string): Cluster {
    checkArgument('fleet.get', 'name', name, isText, 'the name of a ClusterProfile: namespace/name');
    const member = this.#members.get(name);
    const cluster = member?.cluster;
    if (cluster) return cluster;
    if (!member || member.isGone) throw new FleetError('CLUSTER_NOT_FOUND', this.#whyMissing(name), { cluster: name });
    const { state, reason, message, owner } = member.status;
    const code = state === 'NotOwned' ? 'CLUSTER_NOT_OWNED' : 'CLUSTER_NOT_READY';
    const whose = owner === undefined ? '' : ` (owner: ${owner})`;
    throw new FleetError(code, `${name} cannot be used${whose}: it is ${state} (${reason}): ${message}`, {
      cluster: name,
      reason,
      ...(owner === undefined ? {} : { owner }),
    });
  }

  /** Every cluster of the fleet, by name. */
  list(): readonly ClusterListing[] {
    const members = [...this.#members.values()].filter(({ isGone }) => !isGone);
    return members
      .map((member) => ({ name: member.name, ...member.status }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  async #run(): Promise<void> {
    const { hub, namespaces, labelSelector, placement, clock, logger, metrics, providers } = this.#settings;
    const { signal } = this.#stop;
    if (signal.aborted) return;
    const observer = metrics?.observer;
    const changes = providers.onChange(({ added, changed, removed }) => {
      const types = new Set([...added, ...changed, ...removed]);
      for (const member of this.#members.values()) member.providersChanged(types);
    });
    let failure: { readonly error: unknown } | undefined;
    const ownership = this.#ownership
      .run({ changed: (affects) => this.#apply(this.#membership.namesOf(affects)) }, signal)
      .catch((error: unknown) => {
        failure = { error };
        this.#stop.abort(error);
      });
    const source = new Hub({ hub, namespaces, labelSelector, placement, clock, logger, observer, signal });
    try {
      await source.run({
        profile: (name, profile) =>
          this.#apply(profile ? this.#membership.set(name, profile) : this.#membership.delete(name)),
        placed: (clusters) => this.#apply(this.#membership.place(clusters)),
        known: () => {
          this.#known = true;
          this.#context.changed();
        },
      });
    } catch (error) {
      warn(logger, {}, `the hub is read no more, which is a fault of this package: ${reasonOf(error)}`);
      this.#stop.abort();
    }
    changes[Symbol.dispose]();
    // What is shared is given away as soon as nothing works on it any more.
    const members = [...this.#members.values()].map((member) => member.remove('FLEET_CLOSED', 'the fleet ends'));
    await Promise.all([ownership, ...members]);
    this.#context.changed();
    if (failure) throw failure.error;
  }

  /** Tells members what has become of them. */
  #apply(names: Iterable<string>): void {
    if (this.#stop.signal.aborted) return;
    for (const name of [...names]) {
      const profile = this.#membership.profile(name);
      const verdict = this.#membership.verdict(name);
      const member = this.#members.get(name);
      if (!profile || !verdict) {
        if (member && !member.isGone) {
          const why = this.#membership.whyLeft(name);
          this.#remove(member, why === undefined ? 'PROFILE_DELETED' : 'NOT_SELECTED', why ?? deleted);
        }
      } else if (!member) {
        const added = new Member(name, profile, this.#context);
        this.#members.set(name, added);
        added.update(profile, verdict);
      } else {
        member.update(profile, verdict);
      }
    }
    this.#context.changed();
  }

  #remove(member: Member, reason: string, message: string): void {
    member.remove(reason, message).then(() => {
      if (this.#members.get(member.name) === member) this.#members.delete(member.name);
      // It may have come back when it had just left.
      this.#apply([member.name]);
    });
  }

  #isSynced(): boolean {
    if (!this.#known || !this.#ownership.isSettled) return false;
    return [...this.#members.values()].every(({ isSettled, cluster, isGone }) => {
      if (isGone) return true;
      return isSettled && [...(cluster?.informers ?? [])].every(({ hasSynced, trouble }) => hasSynced || trouble);
    });
  }

  #whyMissing(name: string): string {
    if (this.#stop.signal.aborted) return `${name} cannot be used: the fleet has been closed`;
    const left = this.#membership.whyLeft(name) ?? (this.#members.has(name) ? deleted : undefined);
    if (left !== undefined) return `${name} is not in the fleet: ${left}`;
    const meant = nearest(
      name,
      this.list().map((listing) => listing.name),
    );
    const hint = meant ? ` (did you mean ${meant}?)` : this.#known ? '' : ': the hub has not been read yet';
    return `${name} is not in the fleet${hint}`;
  }
}
