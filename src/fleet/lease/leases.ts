/**
 * The Leases of one namespace on one server. A change succeeds only if no other process has made one in the meantime. A server that is only
 * slow is waited for.
 */
import { ApiError } from '../../errors/index.ts';
import type { ApiServer } from '../../rest/api/api-server.ts';
import { within } from '../../rest/api/api-server.ts';
import { groupPath } from '../../rest/api/discovery.ts';
import type { StreamedResponse } from '../../rest/api/streamed-response.ts';
import { readBeginning } from '../../util/printable.ts';
import type { Clock } from '../clock.ts';
import { readObject } from '../reflect/events.ts';
import { type Lease, type LeaseToWrite, leaseKind } from './lease.ts';

/** What a lock needs of an API server. Each rejects with a `ApiError` if the server cannot be reached, or refuses. */
export interface Leases {
  /** `undefined` if there is none. */
  get(name: string, signal: AbortSignal): Promise<Lease | undefined>;
  /** `undefined` if there is one already. */
  create(lease: LeaseToWrite, signal: AbortSignal): Promise<Lease | undefined>;
  /** `undefined` if it has changed since, or is gone. */
  update(lease: LeaseToWrite, signal: AbortSignal): Promise<Lease | undefined>;
  /** `false` if it has changed since, or is gone. */
  delete(lease: Lease, signal: AbortSignal): Promise<boolean>;
}

/** The longest Lease in bytes that is read. */
const longestLease = 1024 * 1024;

export interface ApiLeasesOptions {
  readonly namespace: string;
  /** The verbs that the caller needs. An error for a missing permission names them. */
  readonly verbs: string;
}

export class ApiLeases implements Leases {
  readonly namespace: string;
  readonly #server: ApiServer;
  readonly #verbs: string;

  constructor(server: ApiServer, { namespace, verbs }: ApiLeasesOptions) {
    this.#server = server;
    this.namespace = namespace;
    this.#verbs = verbs;
  }

  async get(name: string, signal: AbortSignal): Promise<Lease | undefined> {
    const response = await this.#server.get(this.path(name), { signal });
    return this.#read(response, `GET Lease ${this.namespace}/${name}`, 200, [404]);
  }

  async create(lease: LeaseToWrite, signal: AbortSignal): Promise<Lease | undefined> {
    const response = await this.#server.send('POST', this.path(), lease, signal);
    return this.#read(response, `POST Lease ${this.namespace}/${lease.metadata.name}`, 201, [409]);
  }

  async update(lease: LeaseToWrite, signal: AbortSignal): Promise<Lease | undefined> {
    const { name } = lease.metadata;
    const response = await this.#server.send('PUT', this.path(name), lease, signal);
    return this.#read(response, `PUT Lease ${this.namespace}/${name}`, 200, [404, 409]);
  }

  async delete({ metadata }: Lease, signal: AbortSignal): Promise<boolean> {
    const { name, uid, resourceVersion } = metadata;
    const options = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } };
    const response = await this.#server.send('DELETE', this.path(name), options, signal);
    const gone = response.statusCode === 200;
    if (gone || response.statusCode === 404 || response.statusCode === 409) {
      await response.body.dump();
      return gone;
    }
    throw await this.refusal(response, `DELETE Lease ${this.namespace}/${name}`);
  }

  async #read(
    response: StreamedResponse,
    what: string,
    expected: number,
    none: readonly number[],
  ): Promise<Lease | undefined> {
    if (none.includes(response.statusCode)) {
      const refusal = await this.#server.refusalOf(response, what);
      // A namespace that is missing, or being deleted, says nothing about the Lease.
      if (/namespaces? |because it is being terminated/.test(refusal.message)) throw refusal;
      return undefined;
    }
    if (response.statusCode !== expected) throw await this.refusal(response, what);
    const text = (await readBeginning(response.body, longestLease)).toString();
    try {
      return readObject(JSON.parse(text), leaseKind);
    } catch {
      throw new ApiError('API_RESPONSE_INVALID', `${what}: the answer is no Lease`);
    }
  }

  /** Which permission is missing, for an operator. */
  protected get advice(): string {
    return `allow the verbs ${this.#verbs} on leases.coordination.k8s.io in namespace ${this.namespace}`;
  }

  protected async refusal(response: StreamedResponse, what: string): Promise<ApiError> {
    const refusal = await this.#server.refusalOf(response, what);
    return response.statusCode === 403 ? refusal.withAdvice(this.advice) : refusal;
  }

  protected path(name?: string): string {
    const list = `${groupPath(leaseKind.apiVersion)}/namespaces/${encodeURIComponent(this.namespace)}/leases`;
    return name === undefined ? list : `${list}/${encodeURIComponent(name)}`;
  }
}

export interface Patience {
  readonly clock: Clock;
  /** Milliseconds that a request gets if the server is fast. */
  readonly requestTimeoutMs: number;
  /** Milliseconds that it gets at most. */
  readonly longestRequestMs: number;
}

export class PatientLeases<T extends Leases = Leases> {
  readonly #leases: T;
  readonly #patience: Patience;
  #limitMs: number;

  constructor(leases: T, patience: Patience) {
    this.#leases = leases;
    this.#patience = patience;
    this.#limitMs = patience.requestTimeoutMs;
  }

  /** Milliseconds that the next request gets. */
  get limitMs(): number {
    return this.#limitMs;
  }

  get(name: string, limitMs?: number): Promise<Lease | undefined> {
    return this.ask(`GET Lease ${name}`, (leases, signal) => leases.get(name, signal), limitMs);
  }

  /** Creates it, or replaces the version that it has. `undefined` if that is not the newest one. */
  write(lease: LeaseToWrite, limitMs?: number): Promise<Lease | undefined> {
    const { name, resourceVersion } = lease.metadata;
    if (resourceVersion === undefined)
      return this.ask(`POST Lease ${name}`, (leases, signal) => leases.create(lease, signal), limitMs);
    return this.ask(`PUT Lease ${name}`, (leases, signal) => leases.update(lease, signal), limitMs);
  }

  delete(lease: Lease): Promise<boolean> {
    return this.ask(`DELETE Lease ${lease.metadata.name}`, (leases, signal) => leases.delete(lease, signal));
  }

  /** Runs one request. The next one gets twice the time that it took, or twice its limit if that has passed. */
  async ask<R>(
    what: string,
    request: (leases: T, signal: AbortSignal) => Promise<R>,
    limitMs = this.#limitMs,
  ): Promise<R> {
    const { clock, requestTimeoutMs, longestRequestMs } = this.#patience;
    const start = clock.uptime();
    const remember = (ms: number) => {
      this.#limitMs = Math.min(Math.max(2 * ms, requestTimeoutMs), longestRequestMs);
    };
    try {
      const message = `${what}: no answer for ${(limitMs / 1_000).toFixed(1)} s`;
      const answer = await within(clock, limitMs, message, (signal) => request(this.#leases, signal));
      remember(clock.uptime() - start);
      return answer;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'API_TIMEOUT') remember(limitMs);
      throw error;
    }
  }
}
