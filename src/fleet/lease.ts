/** Leases of `coordination.k8s.io/v1`: their wire type, how the expiry of one is observed, and the requests for those of a namespace. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { ApiError } from '../errors/index.ts';
import { type ApiServerConfig, within } from '../rest/api/api-server.ts';
import type { KubernetesObject } from '../rest/api/kubernetes-object.ts';
import { ResourceClient } from '../rest/api/resource-client.ts';
import type { AuthenticatedDispatcher } from '../rest/request/dispatcher.ts';
import type { Clock } from './clock.ts';
import { isOlder, readObject } from './reflect/events.ts';

export const leaseKind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' } as const;

/** Any field may be absent: people and other programs write Leases too. */
export interface LeaseSpec {
  /** Empty or absent: it is free. */
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  /** RFC 3339 with six digits of a second. */
  readonly acquireTime?: string;
  readonly renewTime?: string;
  /** How often it went from one holder to another. */
  readonly leaseTransitions?: number;
}

export interface Lease extends KubernetesObject {
  readonly spec?: LeaseSpec;
}

/** `undefined` if it is free. */
export function holderOf(lease: Lease): string | undefined {
  const holder: unknown = lease.spec?.holderIdentity;
  return typeof holder === 'string' && holder !== '' ? holder : undefined;
}

/** Milliseconds for which a Lease is its holder's after it was written; `undefined` if it does not say. */
export function durationOf(lease: Lease): number | undefined {
  const seconds: unknown = lease.spec?.leaseDurationSeconds;
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : undefined;
}

export function transitionsOf(lease: Lease): number {
  const transitions: unknown = lease.spec?.leaseTransitions;
  return typeof transitions === 'number' && transitions >= 0 ? transitions : 0;
}

/** Milliseconds since 1970 as a Lease has them: a server takes exactly six digits of a second. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

/** The pod's name (`POD_NAME`, by the downward API), else the host's name, which is the same in a pod without hostNetwork. */
export function processName(): string {
  return process.env.POD_NAME || hostname();
}

/** As controller-runtime has it: a process that is started again in the same pod is another one. */
export function uniqueIdentity(): string {
  return `${processName()}_${randomUUID()}`;
}

/** The Lease as it was seen last. */
interface Observation {
  /** `undefined` if it is gone; its last holder may go on for a while. */
  readonly lease: Lease | undefined;
  readonly holder: string | undefined;
  /** The newest version that is known of it, also if it is gone. */
  readonly version: string | undefined;
  /** The clock's uptime in which it was first seen like this. */
  readonly at: number;
  /** Processes may have different durations: the longer of the holder's and the own one. */
  readonly durationMs: number;
}

/** What this process knows of one Lease. */
export class LeaseView {
  readonly name: string;
  /** For how long this process holds its own Leases. */
  readonly durationMs: number;
  readonly #clock: Clock;
  #observation: Observation | undefined;

  constructor(name: string, durationMs: number, clock: Clock) {
    this.name = name;
    this.durationMs = durationMs;
    this.#clock = clock;
  }

  /** Another one after each change that is seen, and when its duration starts again; `undefined` if not even its absence is known. */
  get observation(): object | undefined {
    return this.#observation;
  }

  /** Whether there ever was one. */
  get wasSeen(): boolean {
    return this.#observation?.version !== undefined;
  }

  /** `undefined` if there is none, or nothing is known. */
  get lease(): Lease | undefined {
    return this.#observation?.lease;
  }

  /** The holder that it names, or did when it was there. It may have expired. */
  get holder(): string | undefined {
    return this.#observation?.holder;
  }

  /** The clock's uptime in which the Lease was first seen as it is. */
  get seenAt(): number | undefined {
    return this.#observation?.at;
  }

  /** The clock's uptime from which on no process holds it; 0 if it is free. */
  get expiresAt(): number {
    if (!this.#observation) return 0;
    const { lease, holder, at, durationMs } = this.#observation;
    return lease && holder === undefined ? 0 : at + durationMs;
  }

  /** A process may hold it. */
  get isLive(): boolean {
    return this.#clock.uptime() < this.expiresAt;
  }

  /** A watch or a list shows it. Returns whether that is news: an event may come after an answer that is newer. */
  observe(lease: Lease): boolean {
    return !this.#isOld(lease) && this.accept(lease);
  }

  /** A watch shows that it is gone; `last` is what it was, with the version in which it went. */
  observeDeleted(last: Lease): boolean {
    return !this.#isOld(last) && this.acceptAbsence(last.metadata.resourceVersion);
  }

  /** The server has answered that it is like this, whatever was known before. */
  accept(lease: Lease): boolean {
    const { uid, resourceVersion } = lease.metadata;
    const known = this.lease?.metadata;
    if (known?.uid === uid && known.resourceVersion === resourceVersion) return false;
    const own = this.durationMs;
    // More than twice the own one is not believed: anyone can write that number.
    const durationMs = Math.min(Math.max(durationOf(lease) ?? own, own), 2 * own);
    const at = this.#clock.uptime();
    this.#observation = { lease, holder: holderOf(lease), version: resourceVersion, at, durationMs };
    return true;
  }

  /**
   * There is none. If there was one, it was deleted by hand. Its holder does not know that yet, and need not be the one that
   * was seen last: the whole duration counts from now.
   */
  acceptAbsence(version?: string): boolean {
    const before = this.#observation;
    if (before && !before.lease) return false;
    const durationMs = Math.max(before?.durationMs ?? 0, this.durationMs);
    const gone = { lease: undefined, holder: before?.holder, version: version ?? before?.version };
    this.#observation = { ...gone, at: this.#clock.uptime(), durationMs };
    return true;
  }

  /** The duration counts from now: this process could not see changes for a while. */
  startAgain(): void {
    if (this.#observation) this.#observation = { ...this.#observation, at: this.#clock.uptime() };
  }

  /** What is gone does not come back as it was. */
  #isOld({ metadata: { resourceVersion } }: Lease): boolean {
    const known = this.#observation?.version;
    return known !== undefined && (isOlder(resourceVersion, known) || (!this.lease && resourceVersion === known));
  }
}

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
