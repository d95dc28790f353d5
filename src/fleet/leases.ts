/** The requests for the Leases of a namespace. */
import { ApiError } from '../errors/index.ts';
import { type ApiServerConfig, within } from '../rest/api/api-server.ts';
import { ResourceClient } from '../rest/api/resource-client.ts';
import type { AuthenticatedDispatcher } from '../rest/request/dispatcher.ts';
import type { Clock } from './clock.ts';
import { holderOf, type Lease, type LeaseSpec, type LeaseView, leaseKind, microTime, transitionsOf } from './lease.ts';
import { readObject } from './reflect/events.ts';

/** Every API server serves them at the same path. */
const kinds = { find: async () => ({ plural: 'leases', namespaced: true }), forget: () => {} };

/** The requests for Leases of a namespace, as an API server answers them. */
export type LeaseClient = Pick<ResourceClient<Lease>, 'get' | 'list' | 'create' | 'replace' | 'delete'>;

export function leaseClient({ dispatcher: given }: ApiServerConfig, namespace: string): LeaseClient {
  const dispatcher = given as AuthenticatedDispatcher; // every RestConfig has one
  // The longest list of Leases has 64 MiB.
  const server = { dispatcher, transport: dispatcher.withoutRetries, kinds, maxResponseBytes: 64 * 1024 * 1024 };
  return new ResourceClient(server, { ...leaseKind, namespace });
}

/** Which permission is missing, for an operator. */
export function leaseAdvice(verbs: string, namespace: string): string {
  return `allow the verbs ${verbs} on leases.coordination.k8s.io in namespace ${namespace}`;
}

interface LeasesOptions {
  readonly clock: Clock;
  /** Milliseconds that a request may take. */
  readonly limitMs: number;
  /** For an error that the server has forbidden it. */
  readonly advice: string;
}

/** What a Lease is given besides what it has. */
type Marks = Pick<Lease['metadata'], 'labels' | 'annotations'>;

/**
 * Requests for Leases, each within a time limit. A change succeeds only if no other process has made one in the meantime. Views see what
 * the server answers. Each rejects with an `ApiError` if the server cannot be reached, or refuses.
 */
export class Leases {
  readonly #client: LeaseClient;
  readonly #options: LeasesOptions;

  constructor(client: LeaseClient, options: LeasesOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Gets it, and shows it to its view, unless the view has seen something meanwhile: that may be newer. `undefined` if there is none. */
  async look(view: LeaseView): Promise<Lease | undefined> {
    const { name, observation: before } = view;
    const answer = await this.#ask(`GET Lease ${name}`, [404], (signal) => this.#client.get(name, { signal }));
    const lease = answer && readLease(answer);
    if (view.observation !== before) return lease;
    if (lease) view.accept(lease);
    else view.acceptAbsence();
    return lease;
  }

  /** Takes it for `holder`, or renews it. Resolves with `false` if `known` is not the newest version, or it is gone. */
  hold(view: LeaseView, known: Lease | undefined, holder: string, marks?: Marks): Promise<boolean> {
    const now = microTime(this.#options.clock.now());
    const isOwn = known !== undefined && holderOf(known) === holder;
    const spec = {
      holderIdentity: holder,
      leaseDurationSeconds: view.durationMs / 1_000,
      acquireTime: (isOwn && known.spec?.acquireTime) || now,
      renewTime: now,
      leaseTransitions: known ? transitionsOf(known) + (isOwn ? 0 : 1) : 0,
    };
    return this.#write(view, known, spec, marks);
  }

  /** Makes it free, as client-go does. `false` as of `hold`. */
  release(view: LeaseView, known: Lease, marks?: Marks): Promise<boolean> {
    const now = microTime(this.#options.clock.now());
    const times = { leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
    return this.#write(view, known, { holderIdentity: '', leaseTransitions: transitionsOf(known), ...times }, marks);
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

  async #write(view: LeaseView, known: Lease | undefined, spec: LeaseSpec, marks: Marks = {}): Promise<boolean> {
    const { name } = view;
    const metadata = { ...known?.metadata, name };
    for (const field of ['labels', 'annotations'] as const)
      if (marks[field]) metadata[field] = { ...metadata[field], ...marks[field] };
    const object = { ...leaseKind, metadata, spec };
    const answer = known
      ? await this.#ask(`PUT Lease ${name}`, [404, 409], (signal) => this.#client.replace(object, { signal }))
      : await this.#ask(`POST Lease ${name}`, [409], (signal) => this.#client.create(object, { signal }));
    if (answer) view.observe(readLease(answer));
    return answer !== undefined;
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
