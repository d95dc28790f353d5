/** The Leases of one namespace on one server. A change succeeds only where no other process has made one in the meantime. */

import { ApiError } from '../../errors/index.ts';
import type { ApiServer } from '../../rest/api/api-server.ts';
import { groupPath } from '../../rest/api/discovery.ts';
import type { StreamedResponse } from '../../rest/api/streamed-response.ts';
import { readBeginning } from '../../util/read-beginning.ts';
import { readObject } from '../reflect/events.ts';
import { type Lease, type LeaseToWrite, leaseKind } from './lease.ts';

/** What a lock needs of an API server. Each rejects with a `ApiError` where the server cannot be reached, or refuses. */
export interface Leases {
  /** `undefined` where there is none. */
  get(name: string, signal: AbortSignal): Promise<Lease | undefined>;
  /** `undefined` where there is one already. */
  create(lease: LeaseToWrite, signal: AbortSignal): Promise<Lease | undefined>;
  /** `undefined` where it has changed since, or is gone. */
  update(lease: LeaseToWrite, signal: AbortSignal): Promise<Lease | undefined>;
  /** `false` where it has changed since, or is gone. */
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
