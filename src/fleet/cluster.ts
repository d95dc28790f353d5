/** An engaged cluster. */
import type { KindOf, KubernetesObject, TypeOf } from '../rest/api/kubernetes-object.ts';
import type { ResourceClient } from '../rest/api/resource-client.ts';
import type { ResourceOptions } from '../rest/api/resource-options.ts';
import type { RestConfig } from '../rest/rest-config.ts';
import { Events } from './events.ts';
import type { Informer, InformerListener } from './informer/informer.ts';
import { Informers } from './informer/informers.ts';
import type { InformerOptions } from './informer/options.ts';
import type { FleetProfile } from './membership/identity.ts';
import type { Fence } from './membership/ownership.ts';
import type { ReflectorContext } from './reflect/reflector.ts';
import type { ClusterState } from './telemetry.ts';

/** The state of one cluster. */
export interface ClusterListing {
  /** `namespace/name` of its ClusterProfile. */
  readonly name: string;
  readonly state: ClusterState;
  /** A stable code. */
  readonly reason: string;
  readonly message: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** The replica that works on it, if it is another one. */
  readonly owner?: string;
}

interface ClusterParts extends InformerListener {
  readonly name: string;
  readonly config: RestConfig;
  readonly signal: AbortSignal;
  readonly context: ReflectorContext;
  /** Ends the time in which this replica may use it; absent if there is no such limit. */
  readonly fence: Fence | undefined;
  profile(): FleetProfile;
}

/** An engaged cluster, until `signal` aborts. Afterwards `config` submits no request. */
export class Cluster {
  /** `namespace/name` of its ClusterProfile. */
  readonly name: string;
  /** For every client of client-node. The fleet closes it. */
  readonly config: RestConfig;
  /** Aborted when the cluster is disengaged, with a `FleetError` that says why. */
  readonly signal: AbortSignal;
  /** Records events about the objects of this cluster. */
  readonly events: Events;
  readonly #parts: ClusterParts;
  /** @internal */
  readonly informers: Informers;
  /** @internal */
  readonly fence: Fence | undefined;

  /** @internal Made by `Fleet`. */
  constructor(parts: ClusterParts) {
    this.name = parts.name;
    this.config = parts.config;
    this.signal = parts.signal;
    this.fence = parts.fence;
    this.#parts = parts;
    const kind = { apiVersion: 'events.k8s.io/v1', kind: 'Event' };
    this.events = new Events({
      ...parts,
      isPreview: parts.config.preview !== undefined,
      resource: (namespace) => this.resource({ ...kind, namespace }),
    });
    this.informers = new Informers(parts.context, parts.signal, parts);
  }

  /** The current ClusterProfile. Its status changes while the cluster is engaged. */
  get profile(): FleetProfile {
    return this.#parts.profile();
  }

  /**
   * Returns the cache of one resource of this cluster. Equal options share one, so you can call it in every reconcile. It ends with the
   * cluster.
   *
   * @throws ConfigurationError that names every bad option, or the signal's reason after the cluster was disengaged
   */
  informer<
    T extends KubernetesObject = never,
    const A extends string = string,
    const K extends string = string,
    const M extends boolean = boolean,
  >(options: InformerOptions<TypeOf<T, A, K, M>> & KindOf<A, K, M>): Informer<TypeOf<T, A, K, M>> {
    return this.informers.get<TypeOf<T, A, K, M>>(options);
  }

  /**
   * Reads and writes the objects of one kind on this cluster, with server-side apply: `config.resource`, with what the caches know of
   * the kinds.
   *
   * @throws {ConfigurationError} `OPTION_INVALID`, names every bad option
   * @example
   * await cluster.resource({ apiVersion: 'v1', kind: 'ConfigMap', namespace, fieldManager: 'settings' }).apply(map, { force: true });
   */
  resource<T extends KubernetesObject = never, const A extends string = string, const K extends string = string>(
    options: ResourceOptions & KindOf<A, K>,
  ): ResourceClient<TypeOf<T, A, K>> {
    return this.config.resource<TypeOf<T, A, K>>(options, this.#parts.context.server);
  }
}
