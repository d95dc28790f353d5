/** The hub, with caches of its objects, and what its operator has to do if it does not serve them. */
import { FleetError } from '../errors/index.ts';
import type { Logger } from '../observability/logger.ts';
import { ApiServer, type Kind } from '../rest/api/api-server.ts';
import type { KindOf, KubernetesObject, TypeOf } from '../rest/api/kubernetes-object.ts';
import { RestConfig } from '../rest/rest-config.ts';
import type { Clock } from './clock.ts';
import type { Informer } from './informer/informer.ts';
import { Informers } from './informer/informers.ts';
import type { InformerOptions } from './informer/options.ts';
import { clusterProfileKind } from './membership/identity.ts';
import { type Fence, shardLost } from './membership/ownership.ts';
import type { Restart } from './reflect/restart.ts';
import type { FleetObserver } from './telemetry.ts';

interface HubParts {
  readonly config: RestConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: FleetObserver | undefined;
  /** Ends the caches. */
  readonly signal: AbortSignal;
  /** Called when an informer has synced, or fails. */
  changed(): void;
}

/** The API server that has the ClusterProfiles, until the fleet ends. */
export class Hub {
  /** For every client of client-node. The fleet does not close it. */
  readonly config: RestConfig;
  /** @internal */
  readonly informers: Informers;
  readonly #fenced = new WeakMap<Fence, RestConfig>();
  /** Of its configs. */
  readonly #dispatchers = new WeakSet<object>();

  /** @internal Made by `Fleet`. */
  constructor({ config, clock, logger, observer, signal, changed }: HubParts) {
    const server = new ApiServer(config, clock);
    this.config = config;
    this.#dispatchers.add(config.dispatcher);
    const fields = { hub: server.url };
    const context = { server, clock, logger, fields, reports: { observer, cluster: undefined }, advice };
    this.informers = new Informers(context, signal, { changed });
  }

  /**
   * Returns the cache of one resource of the hub, and starts it at once. Equal options share one, so you can call it in every reconcile.
   * It ends with the fleet.
   *
   * @throws ConfigurationError that names every bad option, or `FLEET_CLOSED` after the fleet has ended
   */
  informer<
    T extends KubernetesObject = never,
    const A extends string = string,
    const K extends string = string,
    const M extends boolean = boolean,
  >(options: InformerOptions<TypeOf<T, A, K, M>> & KindOf<A, K, M>): Informer<TypeOf<T, A, K, M>> {
    return this.informers.get<TypeOf<T, A, K, M>>(options);
  }

  /** @internal The config for work that belongs to a shard: when its time is over, requests end, and none is sent. */
  configFor(fence: Fence | undefined): RestConfig {
    if (!fence) return this.config;
    const known = this.#fenced.get(fence);
    if (known) return known;
    const lost = () =>
      new FleetError('LEASE_LOST', `nothing is sent to the hub: ${shardLost.message}`, { reason: shardLost.reason });
    const config = RestConfig.withFence(this.config, () => (fence.isOver ? lost() : undefined));
    fence.signal.addEventListener('abort', () => config.dispatcher.destroy(lost()), { once: true });
    this.#fenced.set(fence, config);
    this.#dispatchers.add(config.dispatcher);
    return config;
  }

  /** @internal Whether this dispatcher sends to the hub. */
  hasDispatcher(dispatcher: object): boolean {
    return this.#dispatchers.has(dispatcher);
  }
}

export const placementDecisionKind = { ...clusterProfileKind, kind: 'PlacementDecision' } as const;

/** The fleet's own kinds by their names in RBAC, and what to do if the hub does not serve them. */
const ownKinds: Readonly<Record<string, { readonly plural: string; readonly missing: string }>> = {
  [clusterProfileKind.kind]: {
    plural: 'clusterprofiles.multicluster.x-k8s.io',
    missing:
      'apply crds/multicluster.x-k8s.io_clusterprofiles.yaml of clusterprofile-credentials to the hub; the watch goes on by itself',
  },
  [placementDecisionKind.kind]: {
    plural: 'placementdecisions.multicluster.x-k8s.io',
    missing: 'apply the CRD placementdecisions.multicluster.x-k8s.io (KEP-5313) to the hub, or leave placement out',
  },
};

function advice({ reason }: Restart, resource: Kind): string {
  const own = resource.apiVersion === clusterProfileKind.apiVersion ? ownKinds[resource.kind] : undefined;
  if (own && reason === 'not_found') return own.missing;
  return own && reason === 'forbidden' ? `allow the verbs get, list and watch on ${own.plural} on the hub` : '';
}
