/** The Leases of one namespace on one server. A change succeeds only if no other process has made one in the meantime. */
import { ApiError } from '../../errors/index.ts';
import { type ApiServerConfig, within } from '../../rest/api/api-server.ts';
import { ResourceClient } from '../../rest/api/resource-client.ts';
import type { AuthenticatedDispatcher } from '../../rest/request/dispatcher.ts';
import type { Clock } from '../clock.ts';
import { readObject } from '../reflect/events.ts';
import { type Lease, type LeaseToWrite, type LeaseView, leaseKind } from './lease.ts';

/** What a lock needs of an API server. Each rejects with a `ApiError` if the server cannot be reached, or refuses. */
export interface Leases {
  /** `undefined` if there is none. */
  get(name: string, signal: AbortSignal): Promise<Lease | undefined>;
  /** Creates it, or replaces the version that it has. `undefined` if that is not the newest one, or is gone. */
  write(lease: LeaseToWrite, signal: AbortSignal): Promise<Lease | undefined>;
  /** `false` if it has changed since, or is gone. */
  delete(lease: Lease, signal: AbortSignal): Promise<boolean>;
}

/** The longest list of Leases in bytes. */
const maxResponseBytes = 64 * 1024 * 1024;

/** Every API server serves them at the same path. */
const leases = { plural: 'leases', namespaced: true };
const discovery = { find: async () => leases, forget: () => {} };

export interface ApiLeasesOptions {
  readonly namespace: string;
  /** The verbs that the caller needs. An error for a missing permission names them. */
  readonly verbs: string;
}

export class ApiLeases implements Leases {
  readonly #namespace: string;
  readonly #verbs: string;
  readonly #client: ResourceClient<Lease>;

  constructor({ dispatcher: given }: ApiServerConfig, { namespace, verbs }: ApiLeasesOptions) {
    const dispatcher = given as AuthenticatedDispatcher; // every RestConfig has one
    this.#namespace = namespace;
    this.#verbs = verbs;
    const server = { dispatcher, transport: dispatcher.withoutRetries, discovery, maxResponseBytes };
    this.#client = new ResourceClient(server, { ...leaseKind, namespace });
  }

  get(name: string, signal: AbortSignal): Promise<Lease | undefined> {
    return this.#unless([404], async () => readLease(await this.#client.get(name, { signal })));
  }

  write(lease: LeaseToWrite, signal: AbortSignal): Promise<Lease | undefined> {
    const object = { ...leaseKind, ...lease };
    if (isNew(lease)) return this.#unless([409], async () => readLease(await this.#client.create(object, { signal })));
    return this.#unless([404, 409], async () => readLease(await this.#client.replace(object, { signal })));
  }

  async delete({ metadata: { name, uid, resourceVersion } }: Lease, signal: AbortSignal): Promise<boolean> {
    const remove = async () => {
      await this.#client.delete(name, { preconditions: { uid, resourceVersion }, signal });
      return true;
    };
    return (await this.#unless([404, 409], remove)) ?? false;
  }

  /** What is there at this moment: without a `resourceVersion` the server asks etcd, not its cache. */
  protected async listBy(labelSelector: string, signal: AbortSignal): Promise<readonly Lease[]> {
    const list = await this.#unless([], () => this.#client.list({ labelSelector, signal }));
    return (list?.items ?? []).map(readLease);
  }

  /** `undefined` if the server answers with one of these statuses. */
  async #unless<R>(statuses: readonly number[], request: () => Promise<R>): Promise<R | undefined> {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof ApiError) || error.statusCode === undefined) throw error;
      // A namespace that is missing, or being deleted, says nothing about the Lease.
      const isOfNamespace = /namespaces "[^"]*" not found|because it is being terminated/.test(error.message);
      if (statuses.includes(error.statusCode) && !isOfNamespace) return undefined;
      throw error.statusCode === 403 ? error.withAdvice(this.advice) : error;
    }
  }

  /** Which permission is missing, for an operator. */
  protected get advice(): string {
    return `allow the verbs ${this.#verbs} on leases.coordination.k8s.io in namespace ${this.#namespace}`;
  }
}

function isNew({ metadata }: LeaseToWrite): boolean {
  return metadata.resourceVersion === undefined;
}

function readLease(answer: unknown): Lease {
  try {
    return readObject(answer, leaseKind);
  } catch {
    throw new ApiError('API_RESPONSE_INVALID', 'the answer is no Lease');
  }
}

/** Requests for Leases, each within a time limit. Their answers are shown to views. */
export class LeaseRequests<T extends Leases = Leases> {
  readonly #leases: T;
  readonly #clock: Clock;
  readonly #limitMs: number;

  /** `limitMs`: milliseconds that a request may take. */
  constructor(leases: T, clock: Clock, limitMs: number) {
    this.#leases = leases;
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  /** Gets it, and shows it to `view`, unless the view has seen something meanwhile: that may be newer. */
  async look(name: string, view: LeaseView): Promise<Lease | undefined> {
    const before = view.observation;
    const lease = await this.ask(`GET Lease ${name}`, (leases, signal) => leases.get(name, signal));
    if (view.observation !== before) return lease;
    if (lease) view.accept(lease);
    else view.acceptAbsence();
    return lease;
  }

  /** See `Leases`. Shows `view` what the server has then. `false` if it has another one. */
  async write(lease: LeaseToWrite, view: LeaseView): Promise<boolean> {
    const what = `${isNew(lease) ? 'POST' : 'PUT'} Lease ${lease.metadata.name}`;
    const written = await this.ask(what, (leases, signal) => leases.write(lease, signal));
    if (written) view.observe(written);
    return written !== undefined;
  }

  delete(lease: Lease): Promise<boolean> {
    return this.ask(`DELETE Lease ${lease.metadata.name}`, (leases, signal) => leases.delete(lease, signal));
  }

  ask<R>(what: string, request: (leases: T, signal: AbortSignal) => Promise<R>): Promise<R> {
    const message = `${what}: no answer for ${(this.#limitMs / 1_000).toFixed(1)} s`;
    return within(this.#clock, this.#limitMs, message, (signal) => request(this.#leases, signal));
  }
}
