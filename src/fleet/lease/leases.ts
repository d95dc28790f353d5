/** The Leases of one namespace on one server. A change succeeds only if no other process has made one in the meantime. */
import { ApiError } from '../../errors/index.ts';
import { type ApiServerConfig, within } from '../../rest/api/api-server.ts';
import { ResourceClient } from '../../rest/api/resource-client.ts';
import type { AuthenticatedDispatcher } from '../../rest/request/dispatcher.ts';
import type { Clock } from '../clock.ts';
import { readObject } from '../reflect/events.ts';
import { type Lease, type LeaseToWrite, type LeaseView, leaseKind } from './lease.ts';

/** The longest list of Leases in bytes. */
const maxResponseBytes = 64 * 1024 * 1024;

/** Every API server serves them at the same path. */
const resource = { plural: 'leases', namespaced: true };
const kinds = { find: async () => resource, forget: () => {} };

/** The requests for Leases of a namespace, as an API server answers them. */
export type LeaseClient = Pick<ResourceClient<Lease>, 'get' | 'list' | 'create' | 'replace' | 'delete'>;

export function leaseClient({ dispatcher: given }: ApiServerConfig, namespace: string): LeaseClient {
  const dispatcher = given as AuthenticatedDispatcher; // every RestConfig has one
  const server = { dispatcher, transport: dispatcher.withoutRetries, kinds, maxResponseBytes };
  return new ResourceClient(server, { ...leaseKind, namespace });
}

/** Which permission is missing, for an operator. */
export function leaseAdvice(verbs: string, namespace: string): string {
  return `allow the verbs ${verbs} on leases.coordination.k8s.io in namespace ${namespace}`;
}

export interface LeasesOptions {
  readonly clock: Clock;
  /** Milliseconds that a request may take. */
  readonly limitMs: number;
  /** For an error that the server has forbidden it. */
  readonly advice: string;
}

/**
 * Requests for Leases, each within a time limit. Their answers are shown to views. Each rejects with an `ApiError` if the server cannot
 * be reached, or refuses.
 */
export class Leases {
  readonly #client: LeaseClient;
  readonly #options: LeasesOptions;

  constructor(client: LeaseClient, options: LeasesOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Gets it, and shows it to `view`, unless the view has seen something meanwhile: that may be newer. `undefined` if there is none. */
  async look(name: string, view: LeaseView): Promise<Lease | undefined> {
    const before = view.observation;
    const answer = await this.#ask(`GET Lease ${name}`, [404], (signal) => this.#client.get(name, { signal }));
    const lease = answer && readLease(answer);
    if (view.observation !== before) return lease;
    if (lease) view.accept(lease);
    else view.acceptAbsence();
    return lease;
  }

  /**
   * Creates it, or replaces the version that it has, and shows `view` what the server has then. `false` if that is not the newest one, or
   * is gone.
   */
  async write(lease: LeaseToWrite, view: LeaseView): Promise<boolean> {
    const object = { ...leaseKind, ...lease };
    const { name, resourceVersion } = lease.metadata;
    const answer =
      resourceVersion === undefined
        ? await this.#ask(`POST Lease ${name}`, [409], (signal) => this.#client.create(object, { signal }))
        : await this.#ask(`PUT Lease ${name}`, [404, 409], (signal) => this.#client.replace(object, { signal }));
    if (answer) view.observe(readLease(answer));
    return answer !== undefined;
  }

  /** It may have changed since, or be gone: then nothing is deleted. */
  async delete({ metadata: { name, uid, resourceVersion } }: Lease): Promise<void> {
    const preconditions = { uid, resourceVersion };
    await this.#ask(`DELETE Lease ${name}`, [404, 409], (signal) =>
      this.#client.delete(name, { preconditions, signal }),
    );
  }

  /** What is there at this moment: without a `resourceVersion` the server asks etcd, not its cache. */
  async list(labelSelector: string): Promise<readonly Lease[]> {
    const list = await this.#ask('list Leases', [], (signal) => this.#client.list({ labelSelector, signal }));
    return (list?.items ?? []).map(readLease);
  }

  /** `undefined` if the server answers with one of these statuses. */
  async #ask<R>(
    what: string,
    statuses: readonly number[],
    request: (signal: AbortSignal) => Promise<R>,
  ): Promise<R | undefined> {
    const { clock, limitMs, advice } = this.#options;
    try {
      return await within(clock, limitMs, `${what}: no answer for ${(limitMs / 1_000).toFixed(1)} s`, request);
    } catch (error) {
      if (!(error instanceof ApiError) || error.statusCode === undefined) throw error;
      // A namespace that is missing, or being deleted, says nothing about the Lease.
      const isOfNamespace = /namespaces "[^"]*" not found|because it is being terminated/.test(error.message);
      if (statuses.includes(error.statusCode) && !isOfNamespace) return undefined;
      throw error.statusCode === 403 ? error.withAdvice(advice) : error;
    }
  }
}

function readLease(answer: unknown): Lease {
  try {
    return readObject(answer, leaseKind);
  } catch {
    throw new ApiError('API_RESPONSE_INVALID', 'the answer is no Lease');
  }
}
