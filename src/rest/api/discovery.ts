/** Where a kind is served: apiVersion and kind come in, the path of its resource goes out. Asks each server once for each group. */

import { ApiError } from '../../errors/index.ts';
import type { Timers } from '../../util/abortable.ts';
import { tryParseJson } from '../../util/guards.ts';
import { readBeginning } from '../../util/printable.ts';
import { type ApiServer, answerTimeoutMs, Deadline } from './api-server.ts';

/** Which objects: a kind and, if it matters, a namespace. */
export interface Kind {
  /** `v1`, or `group/version`. */
  readonly apiVersion: string;
  readonly kind: string;
}

export interface Resource {
  /** Lower case and plural, as in a path. */
  readonly plural: string;
  readonly namespaced: boolean;
}

/** The longest answer to discovery in bytes. */
const longestAnswer = 8 * 1024 * 1024;

/** `/api/v1`, or `/apis/group/version`. */
function groupPath(apiVersion: string): string {
  return apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}

/** The path of a resource's list. */
export function listPath(
  { apiVersion, kind }: Kind,
  { plural, namespaced }: Resource,
  namespace: string | undefined,
): string {
  const group = groupPath(apiVersion);
  if (namespace === undefined) return `${group}/${plural}`;
  if (namespaced) return `${group}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
  throw new ApiError('KIND_NOT_SERVED', `${kind} has no namespaces: leave namespace ${namespace} out`);
}

/** What one server serves. */
export class Discovery {
  readonly #server: ApiServer;
  readonly #clock: Timers;
  readonly #groups = new Map<string, Promise<ReadonlyMap<string, Resource>>>();

  constructor(server: ApiServer, clock: Timers) {
    this.#server = server;
    this.#clock = clock;
  }

  /** @throws {ApiError} `KIND_NOT_SERVED` if the server has no such kind */
  async find({ apiVersion, kind }: Kind, signal: AbortSignal): Promise<Resource> {
    const pending = this.#groups.get(apiVersion) ?? this.#ask(apiVersion, signal);
    this.#groups.set(apiVersion, pending);
    let kinds: ReadonlyMap<string, Resource>;
    try {
      kinds = await pending;
    } catch (error) {
      if (this.#groups.get(apiVersion) === pending) this.#groups.delete(apiVersion);
      throw error;
    }
    const resource = kinds.get(kind);
    if (resource) return resource;
    this.forget(apiVersion);
    throw new ApiError('KIND_NOT_SERVED', `the server does not serve ${kind} (${apiVersion}): apply its CRD`);
  }

  /** Asks again next time: a path that was right before is not any more. */
  forget(apiVersion: string): void {
    this.#groups.delete(apiVersion);
  }

  async #ask(apiVersion: string, signal: AbortSignal): Promise<ReadonlyMap<string, Resource>> {
    const what = `GET ${groupPath(apiVersion)}`;
    const deadline = new Deadline(this.#clock, signal);
    deadline.set(answerTimeoutMs, `${what}: no answer for ${answerTimeoutMs / 1_000} s`);
    try {
      const response = await this.#server.get(groupPath(apiVersion), { signal: deadline.signal });
      if (response.statusCode === 404) {
        await response.body.dump();
        return new Map();
      }
      if (response.statusCode !== 200) throw await this.#server.refusalOf(response, what);
      return readKinds((await readBeginning(response.body, longestAnswer)).toString(), what);
    } finally {
      deadline.end();
    }
  }
}

function readKinds(text: string, what: string): ReadonlyMap<string, Resource> {
  const list = tryParseJson(text);
  if (list === undefined) throw new ApiError('API_RESPONSE_INVALID', `${what}: the answer: it is not JSON`);
  const { resources } = Object(list);
  const kinds = new Map<string, Resource>();
  for (const resource of Array.isArray(resources) ? resources : []) {
    const { name, kind, namespaced } = Object(resource);
    // Others are subresources.
    if (typeof name !== 'string' || typeof kind !== 'string' || name.includes('/')) continue;
    if (!kinds.has(kind)) kinds.set(kind, { plural: name, namespaced: namespaced === true });
  }
  return kinds;
}
