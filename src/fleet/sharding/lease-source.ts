/** The Leases of one fleet on the hub: read at once, and watched. */

import type { Logger } from '../../observability/logger.ts';
import { ApiServer, type ApiServerConfig } from '../../rest/api/api-server.ts';
import type { Clock } from '../clock.ts';
import { Informer } from '../informer/informer.ts';
import { type Lease, leaseKind } from '../lease/lease.ts';
import { ApiLeases, type Leases } from '../lease/leases.ts';
import { reflectorContext } from '../reflect/reflector.ts';
import type { FleetObserver } from '../telemetry.ts';

export interface LeaseListener {
  applied(lease: Lease): void;
  /** As it was last. */
  deleted(lease: Lease): void;
}

/** What sharding needs of an API server. */
export interface LeaseSource extends Leases {
  /** What is there at this moment, nothing older. */
  list(signal: AbortSignal): Promise<readonly Lease[]>;
  /** Reports the existing Leases and each change, in order for each Lease, until the signal aborts. */
  watch(listener: LeaseListener, signal: AbortSignal): void;
}

export interface HubLeasesOptions {
  readonly namespace: string;
  readonly selector: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: FleetObserver | undefined;
}

export class HubLeases extends ApiLeases implements LeaseSource {
  readonly #server: ApiServer;
  readonly #options: HubLeasesOptions;

  constructor(hub: ApiServerConfig, options: HubLeasesOptions) {
    super(hub, { namespace: options.namespace, verbs: 'get, list, watch, create, update and delete' });
    this.#server = new ApiServer(hub);
    this.#options = options;
  }

  list(signal: AbortSignal): Promise<readonly Lease[]> {
    return this.listBy(this.#options.selector, signal);
  }

  watch(listener: LeaseListener, signal: AbortSignal): void {
    const { namespace, selector, clock, logger, observer } = this.#options;
    const server = this.#server;
    const context = reflectorContext(server, {
      clock,
      logger,
      fields: { hub: server.url },
      reports: { observer, cluster: undefined },
      advice: ({ reason }) => (reason === 'forbidden' ? this.advice : ''),
    });
    const informer = new Informer<Lease>({ ...leaseKind, namespace, labelSelector: selector }, context, signal);
    informer.subscribe(({ before, after, gone }) => {
      if (after) listener.applied(after);
      else if (gone ?? before) listener.deleted((gone ?? before) as Lease); // one of the two is there
    });
  }
}
