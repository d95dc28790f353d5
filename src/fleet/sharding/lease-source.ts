/** The Leases of one fleet on the hub: read at once, and watched. */

import { ApiError } from '../../errors/index.ts';
import type { Logger } from '../../observability/logger.ts';
import type { ApiServer } from '../../rest/api/api-server.ts';
import { readBeginning } from '../../util/printable.ts';
import type { Clock } from '../clock.ts';
import { Informer } from '../informer/informer.ts';
import { type Lease, leaseKind } from '../lease/lease.ts';
import { ApiLeases, type Leases } from '../lease/leases.ts';
import { readObject } from '../reflect/events.ts';
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

/** The longest list in bytes. */
const longestList = 64 * 1024 * 1024;

export class HubLeases extends ApiLeases implements LeaseSource {
  readonly #server: ApiServer;
  readonly #options: HubLeasesOptions;

  constructor(server: ApiServer, options: HubLeasesOptions) {
    super(server, { namespace: options.namespace, verbs: 'get, list, watch, create, update and delete' });
    this.#server = server;
    this.#options = options;
  }

  async list(signal: AbortSignal): Promise<readonly Lease[]> {
    // Without a resourceVersion: the server asks etcd, not its cache.
    const query = new URLSearchParams({ labelSelector: this.#options.selector });
    const response = await this.#server.get(`${this.path()}?${query}`, { signal });
    const what = `list Leases in ${this.namespace}`;
    if (response.statusCode !== 200) throw await this.refusal(response, what);
    const text = (await readBeginning(response.body, longestList)).toString();
    try {
      const { items } = JSON.parse(text);
      return items.map((item: unknown) => readObject(item, leaseKind));
    } catch {
      throw new ApiError('API_RESPONSE_INVALID', `${what}: the answer is no list`);
    }
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
