/**
 * One API server: a RestConfig comes in, responses go out, whose bodies are read as they arrive, and for which there is a time limit. It knows
 * where a kind is served, and asks once for each group.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { constants, gunzipSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { withoutLastSlashes } from '../../access/url-pattern.ts';
import { ApiError } from '../../errors/index.ts';
import { systemTimers, type Timers } from '../../util/abortable.ts';
import { tryParseJson } from '../../util/guards.ts';
import { isLoopback } from '../../util/hosts.ts';
import { readBeginning } from '../../util/printable.ts';
import type { AuthenticatedDispatcher } from '../request/dispatcher.ts';
import { contentEncodingOf, type StreamedResponse, stream } from '../request/response.ts';
import { refusalError, type Shown } from './api-status.ts';

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

/** The part of a RestConfig that is needed. */
export interface ApiServerConfig {
  readonly dispatcher: Dispatcher;
}

interface GetOptions {
  /** Gives up, whatever has come. */
  readonly signal: AbortSignal;
  /** @default false */
  readonly gzip?: boolean;
  /** @default `application/json` */
  readonly accept?: string;
}

export class ApiServer {
  readonly url: string;
  readonly #dispatcher: AuthenticatedDispatcher;
  readonly #clock: Timers;
  readonly #groups = new Map<string, Promise<ReadonlyMap<string, Resource>>>();

  constructor({ dispatcher }: ApiServerConfig, clock: Timers = systemTimers) {
    this.#dispatcher = dispatcher as AuthenticatedDispatcher; // every RestConfig has one
    this.#clock = clock;
    this.url = withoutLastSlashes(this.#dispatcher.cluster.server);
  }

  /** Gets `path`, which begins with a slash: the answer, whatever its status. `gzip` has no effect on a server on this machine. */
  get(path: string, { signal, gzip = false, accept = 'application/json' }: GetOptions): Promise<StreamedResponse> {
    const { origin, hostname, pathname, search } = new URL(`${this.url}${path}`);
    const packed = gzip && !isLoopback(hostname);
    const options = {
      origin,
      path: `${pathname}${search}`,
      method: 'GET',
      headers: { accept, ...(packed ? { 'accept-encoding': 'gzip' } : {}) },
      // A quiet watch is not a dead one; the reader of a list has limits of its own.
      bodyTimeout: 0,
      headersTimeout: answerTimeoutMs,
    } as const;
    // The reflector has retries of its own.
    return stream((handler) => this.#dispatcher.withoutRetries.dispatch(options, handler), signal);
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
      const response = await this.get(groupPath(apiVersion), { signal: deadline.signal });
      if (response.statusCode === 404) {
        await response.body.dump();
        return new Map();
      }
      if (response.statusCode !== 200) throw await this.refusalOf(response, what);
      return readKinds((await readBeginning(response.body, longestAnswer)).toString(), what);
    } finally {
      deadline.end();
    }
  }

  /** Returns the first `length` characters of this server's text, without the credential that it was sent. */
  readonly shown: Shown = (text, length, options) => this.#dispatcher.shown(text, length, options);

  /** The error for a refused request, with the message of its `Status`, or the beginning of another body. */
  async refusalOf({ statusCode, headers, body }: StreamedResponse, what: string): Promise<ApiError> {
    const bytes = await readBeginning(body, mostOfRefusal).catch(() => Buffer.of());
    const text = decompressed(bytes, this.contentEncodingOf(headers));
    const refusal = { statusCode, headers, text, isCut: bytes.length >= mostOfRefusal };
    return refusalError(`${what}: status ${statusCode}`, refusal, this.shown, this.#dispatcher.cluster);
  }

  /** The compression of a body: `gzip`, for example. Empty if there is none. Redacted. */
  contentEncodingOf(headers: IncomingHttpHeaders): string {
    return this.shown(contentEncodingOf(headers), 100);
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

/** The bytes that are read of an unsuccessful response. */
const mostOfRefusal = 16_384;

/** Decompresses the beginning of a text: a proxy in between may compress without being asked to. */
function decompressed(bytes: Buffer, encoding: string): string {
  if (encoding === '') return bytes.toString();
  try {
    return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 1024 * 1024 }).toString();
  } catch {
    return `its text is compressed (${encoding}) and cannot be read`;
  }
}

/** Milliseconds until an API server must begin its answer, and between two parts of a list. The server itself gives up after 60 s. */
export const answerTimeoutMs = 60_000;

/** A signal that aborts with another one, or with `API_TIMEOUT` when the time that was set last has passed. */
export class Deadline {
  readonly #clock: Timers;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #onAbort = () => this.#controller.abort(this.#outer?.reason);
  readonly signal: AbortSignal = this.#controller.signal;
  #cancel = () => {};

  /** Without `AbortSignal.any`, which leaves something at `outer` for each request in Node 22. */
  constructor(clock: Timers, outer?: AbortSignal) {
    this.#clock = clock;
    this.#outer = outer;
    if (outer?.aborted) this.#onAbort();
    else outer?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Aborts in `ms` milliseconds, and not at the time that was set before. */
  set(ms: number, message: string): void {
    this.#cancel();
    this.#cancel = this.#clock.after(ms, () => this.#controller.abort(new ApiError('API_TIMEOUT', message)));
  }

  /** Stops counting until the next `set`. */
  clear(): void {
    this.#cancel();
  }

  /** Stops counting, and aborts whatever of the request is still in progress. */
  end(): void {
    this.#cancel();
    this.#outer?.removeEventListener('abort', this.#onAbort);
    this.#controller.abort(new ApiError('API_TIMEOUT', 'the request has ended'));
  }
}

/** Runs one request within `ms` milliseconds. @throws {ApiError} `API_TIMEOUT` with `message` when they have passed */
export async function within<T>(
  clock: Timers,
  ms: number,
  message: string,
  request: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new Deadline(clock);
  deadline.set(ms, message);
  try {
    return await request(deadline.signal);
  } finally {
    deadline.clear();
  }
}
