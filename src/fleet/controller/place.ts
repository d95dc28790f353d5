/** Where a controller works: a cluster, or the hub. */
import { FleetError } from '../../errors/index.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Kind } from '../../rest/api/discovery.ts';
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import type { Clock } from '../clock.ts';
import type { Cluster } from '../cluster.ts';
import type { LogFields } from '../guard.ts';
import type { Hub } from '../hub.ts';
import type { Informer } from '../informer/informer.ts';
import type { InformerOptions } from '../informer/options.ts';
import { type Ownership, shardLost } from '../membership/ownership.ts';

export interface Place {
  /** For messages. */
  readonly name: string;
  readonly fields: LogFields;
  /** Absent on the hub. */
  readonly cluster?: Cluster;
  /** Aborted when all work there has to end. */
  readonly signal: AbortSignal;
  informer<T extends KubernetesObject>(options: InformerOptions<T>): Informer<T>;
  isNamespaced(kind: Kind): Promise<boolean>;
  /** Whether this process reconciles the object with this key. */
  owns(key: string): boolean;
  /**
   * Begins a reconcile; `undefined` where another process reconciles the object. Calls `abandon` if the object is lost, and the reconcile
   * goes on for too long in spite of its signal.
   */
  enter(key: string, abandon: (reason: unknown) => void): Tenure | undefined;
}

/** The time of one reconcile. */
export interface Tenure {
  /** Aborted when the reconcile has to end, because of its place. */
  readonly signal: AbortSignal;
  /** The reconcile has ended, or was abandoned. */
  leave(): void;
}

/** A cluster is reconciled as a whole: it is engaged here, and nowhere else. */
export function clusterPlace(cluster: Cluster): Place {
  const { name, signal } = cluster;
  return {
    ...{ name, signal, cluster, fields: { cluster: name } },
    informer: (options) => cluster.informer(options),
    isNamespaced: (kind) => cluster.isNamespaced(kind),
    owns: () => true,
    enter: () => ({ signal, leave: () => {} }),
  };
}

export interface HubPlaceContext {
  readonly hub: Hub;
  readonly ownership: Ownership;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The fleet ends. */
  readonly signal: AbortSignal;
  /** Milliseconds that a reconcile of an object that was lost may go on. */
  readonly drainTimeoutMs: number;
}

/** Replicas share the hub object by object: each belongs to a shard, by its key. */
export class HubPlace implements Place {
  readonly name = 'the hub';
  readonly fields: LogFields;
  readonly signal: AbortSignal;
  readonly #context: HubPlaceContext;
  readonly #tenures = new Set<{ readonly key: string; lose(): void; stop(): void }>();

  constructor(context: HubPlaceContext) {
    this.#context = context;
    this.signal = context.signal;
    this.fields = { hub: context.hub.config.getCurrentCluster()?.server };
    const stop = () => {
      for (const tenure of this.#tenures) tenure.stop();
    };
    this.signal.addEventListener('abort', stop, { once: true });
  }

  informer<T extends KubernetesObject>(options: InformerOptions<T>): Informer<T> {
    return this.#context.hub.informer(options);
  }

  isNamespaced(kind: Kind): Promise<boolean> {
    return this.#context.hub.isNamespaced(kind);
  }

  owns(key: string): boolean {
    return this.#context.ownership.ownerOf(key).mine;
  }

  enter(key: string, abandon: (reason: unknown) => void): Tenure | undefined {
    const { ownership, clock, logger, drainTimeoutMs } = this.#context;
    const owner = ownership.ownerOf(key);
    if (!owner.mine) return undefined;
    const abort = new AbortController();
    let cancel = () => {};
    const stop = () => abort.abort(new FleetError('FLEET_CLOSED', 'the fleet ends'));
    const lose = () => {
      if (abort.signal.aborted) return;
      abort.abort(this.#whyLost(key));
      cancel = clock.after(drainTimeoutMs, () => {
        const message = `reconcile of ${key} on the hub still runs ${drainTimeoutMs} ms after its signal aborted: it is given up`;
        logger.warn({ ...this.fields, object: key }, message);
        abandon(abort.signal.reason);
      });
    };
    const tenure = { key, lose, stop };
    owner.fence?.signal.addEventListener('abort', lose, { once: true });
    this.#tenures.add(tenure);
    ownership.enter(key, tenure);
    return {
      signal: abort.signal,
      leave: () => {
        cancel();
        owner.fence?.signal.removeEventListener('abort', lose);
        this.#tenures.delete(tenure);
        ownership.leave(key, tenure);
      },
    };
  }

  /** Objects with these keys may be another replica's now. */
  ownersChanged(affects: (key: string) => boolean): void {
    for (const { key, lose } of this.#tenures) if (affects(key) && !this.owns(key)) lose();
  }

  #whyLost(key: string): FleetError {
    const owner = this.#context.ownership.ownerOf(key);
    const { reason, message } = owner.mine ? shardLost : owner;
    return new FleetError('LEASE_LOST', `${key} on the hub is let go (${reason}): ${message}`, { reason });
  }
}
