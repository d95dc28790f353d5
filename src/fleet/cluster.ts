/** A cluster that is in use. */
import { inspect } from 'node:util';
import { parseOptionsWith } from '../option-schemas.ts';
import type { RestConfig } from '../rest/rest-config.ts';
import type { Kind } from './discovery.ts';
import type { Informer, InformerOptions } from './informer/informer.ts';
import { Informers } from './informer/informers.ts';
import { informerSchema } from './informer/options.ts';
import type { KubernetesObject } from './kubernetes-object.ts';
import type { FleetProfile } from './profile.ts';
import type { ReflectorContext, ReflectorRestart } from './reflect/reflector.ts';

/** What a cluster is made of. */
export interface ClusterParts {
  readonly name: string;
  readonly config: RestConfig;
  readonly signal: AbortSignal;
  readonly context: ReflectorContext;
  profile(): FleetProfile;
  restarts(informer: Informer, restart: ReflectorRestart): void;
  /** An informer has synced. */
  synced(): void;
}

/** The time in which what works on a cluster may end. It begins when the cluster's signal aborts. */
export interface Drain {
  /** Aborted when requests are ended: what goes on then counts no more, and holds no timer. */
  readonly cut: AbortSignal;
  /** Aborted when nobody waits any longer. */
  readonly late: AbortSignal;
}

/** A cluster that is in use, until `signal` aborts. Afterwards no request leaves through its `config`. */
export class Cluster {
  /** `namespace/name` of its ClusterProfile. */
  readonly name: string;
  /** For any client of client-node, as `RestConfig` says. It is closed with the cluster: do not close it. */
  readonly config: RestConfig;
  /** Aborted when the cluster is disengaged. Its `reason` is a `FleetError` that says why. */
  readonly signal: AbortSignal;
  readonly #parts: ClusterParts;
  readonly #informers: Informers;

  /** @internal Made by `Fleet`. */
  constructor(parts: ClusterParts) {
    this.name = parts.name;
    this.config = parts.config;
    this.signal = parts.signal;
    this.#parts = parts;
    this.#informers = new Informers(parts.context, parts.signal, parts.restarts, parts.synced);
  }

  /** The newest that the hub has: its status changes while the cluster is in use. */
  get profile(): FleetProfile {
    return this.#parts.profile();
  }

  /**
   * A cache of one resource of this cluster. Equal options share one, so it costs nothing to ask for it in every reconcile. It
   * ends with the cluster. Throws a `ConfigurationError` that names every bad option, and the signal's reason when the cluster
   * has been disengaged.
   */
  informer<T extends KubernetesObject = KubernetesObject>(options: InformerOptions<T>): Informer<T> {
    // A copy: what the caller's object becomes later is not asked for. The schema has looked at every function; its types are the author's.
    const asked = parseOptionsWith(informerSchema, options) as object as InformerOptions<T>;
    return this.#informers.get(asked);
  }

  /** @internal */
  get informers(): Iterable<Informer> {
    return this.#informers;
  }

  /** @internal Whether objects of a kind stand in namespaces; `undefined` where the server does not say it. */
  async isNamespaced(kind: Kind): Promise<boolean | undefined> {
    return (await this.#parts.context.discovery.find(kind, this.signal)).namespaced;
  }

  [inspect.custom](): string {
    return `Cluster { ${this.name}, ${this.config.access.cluster.server}${this.signal.aborted ? ', disengaged' : ''} }`;
  }
}
