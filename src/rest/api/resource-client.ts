/** Reads and writes the objects of one kind on one API server, as the wire has them: a response is parsed, and not converted. */
import type { Dispatcher } from 'undici';
import { ApiError, ConfigurationError, checkArgument, RequestError } from '../../errors/index.ts';
import { reconcileScope } from '../../observability/telemetry.ts';
import { parseOptionsWith } from '../../options/option-schemas.ts';
import { abortable } from '../../util/abortable.ts';
import { isObject, tryParseJson } from '../../util/guards.ts';
import type { AuthenticatedDispatcher } from '../request/dispatcher.ts';
import { type Answer, sendRequest } from '../request/response.ts';
import { withoutQuery } from '../transport/wire-request.ts';
import { type ApiServer, listPath, type Resource } from './api-server.ts';
import { readStatus, refusalError } from './api-status.ts';
import type { KubernetesObject, MergePatch, UntypedObject, WireInput } from './kubernetes-object.ts';
import {
  type ApplyOptions,
  callSchemas,
  checkName,
  type DeleteOptions,
  type GetOptions,
  type JsonPatchOperation,
  type ListOptions,
  type PatchOptions,
  type ReplaceOptions,
  type ResourceList,
  type ResourceOptions,
  resourceSchema,
  type WriteOptions,
} from './resource-options.ts';

/** Where the requests go. */
export interface ResourceServer {
  readonly dispatcher: AuthenticatedDispatcher;
  /** Of the dispatcher, for callers that retry by themselves. @default the dispatcher */
  readonly transport?: Dispatcher;
  readonly kinds: Pick<ApiServer, 'find' | 'forget'>;
  readonly maxResponseBytes: number;
}

const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

const headers = {
  accept: 'application/json',
  'accept-encoding': 'gzip',
  'user-agent': 'clusterprofile-credentials',
};

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly namespace?: string | undefined;
  /** Absent for a list. */
  readonly name?: string;
  readonly subresource?: string | undefined;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: object;
  /** @default `application/json` */
  readonly contentType?: string;
}

/** The objects of one kind on one cluster. If the server refuses, every method rejects with its `Status`: an `ApiError` `API_STATUS`. */
export class ResourceClient<T extends KubernetesObject = UntypedObject> {
  readonly #server: ResourceServer;
  readonly #options: ResourceOptions;

  /** @internal Made by `config.resource` and `cluster.resource`. */
  constructor(server: ResourceServer, options: ResourceOptions) {
    this.#server = server;
    this.#options = parseOptionsWith(resourceSchema, options) as ResourceOptions; // absent fields may also be undefined
  }

  /** Returns the object. Rejects if there is none, with `statusCode` 404. */
  async get(name: string, options: GetOptions = {}): Promise<T> {
    checkName('get', 'name', name);
    const { signal } = parseOptionsWith(callSchemas.get, options);
    return this.#object(await this.#send({ method: 'GET', name }, signal));
  }

  /**
   * Returns the object, or `undefined` if the server has none of this name. Rejects as `get` does if it does not serve the kind.
   *
   * @example
   * const settings = await maps.find('settings');
   */
  async find(name: string, options: GetOptions = {}): Promise<T | undefined> {
    checkName('find', 'name', name);
    try {
      return await this.get(name, options);
    } catch (error) {
      // A proxy, and a server that no longer serves the kind, send no Status.
      if (error instanceof ApiError && error.statusCode === 404 && error.reason === 'NotFound') return undefined;
      throw error;
    }
  }

  /** Returns the objects, or a page of them if there is a `limit`. */
  async list(options: ListOptions = {}): Promise<ResourceList<T>> {
    const { signal, ...query } = parseOptionsWith(callSchemas.list, options);
    const list = await this.#send({ method: 'GET', query }, signal);
    const { metadata, items: listed } = Object(list);
    // Go writes an empty list as null.
    const items: unknown = listed === null ? [] : listed;
    if (!isObject(metadata) || !Array.isArray(items)) throw this.#unreadable('the answer is no list');
    const { apiVersion, kind } = this.#options;
    // Items of a list have no kind and apiVersion, unless their kind has a CRD.
    for (const item of items) if (isObject(item)) Object.assign(item, { apiVersion, kind });
    return { metadata, items } as ResourceList<T>; // an API server's own
  }

  /** Creates an object. Rejects if it exists, with `statusCode` 409 and the reason `AlreadyExists`. */
  async create(object: WireInput<T>, options: WriteOptions = {}): Promise<T> {
    const { body, namespace } = this.#input('create', object);
    return this.#write({ method: 'POST', namespace, body }, parseOptionsWith(callSchemas.create, options));
  }

  /**
   * Replaces an object by a state of it that was read and then changed. Rejects with `statusCode` 409 if it has another
   * `metadata.resourceVersion` by now; without one it is replaced whatever it is.
   */
  async replace(object: WireInput<T>, options: ReplaceOptions = {}): Promise<T> {
    const { body, namespace, name } = this.#input('replace', object);
    checkName('replace', 'metadata.name', name);
    return this.#write({ method: 'PUT', namespace, name, body }, parseOptionsWith(callSchemas.replace, options));
  }

  /**
   * Server-side apply: creates the object, or gives it these fields, and takes away those that this field manager has applied before
   * and that are now missing. Fields of other managers are a conflict (409), unless `force` is true.
   *
   * @example
   * await maps.apply({ metadata: { name: 'settings' }, data: { colour: 'red' } }, { fieldManager: 'painter', force: true });
   */
  apply(object: WireInput<T>, options: ApplyOptions = {}): Promise<T> {
    return this.#apply('apply', object, options, undefined);
  }

  /** The same for the status of an object that exists. */
  applyStatus(object: WireInput<T>, options: ApplyOptions = {}): Promise<T> {
    return this.#apply('applyStatus', object, options, 'status');
  }

  /** Changes an object. The type of the patch decides how: a JSON merge patch by default. */
  patch(name: string, patch: MergePatch<T>, options?: PatchOptions & { readonly type?: 'merge' }): Promise<T>;
  patch(
    name: string,
    patch: readonly JsonPatchOperation[],
    options: PatchOptions & { readonly type: 'json' },
  ): Promise<T>;
  patch(name: string, patch: object, options: PatchOptions & { readonly type: 'strategic' }): Promise<T>;
  async patch(name: string, body: object, options: PatchOptions = {}): Promise<T> {
    checkName('patch', 'name', name);
    checkArgument('patch', 'patch', body, (value) => typeof value === 'object' && value !== null, 'a patch');
    const { type = 'merge', ...given } = parseOptionsWith(callSchemas.patch, options);
    return this.#write({ method: 'PATCH', name, body, contentType: patchTypes[type] }, given);
  }

  /** Deletes an object. One with finalizers goes when these have gone. */
  async delete(name: string, options: DeleteOptions = {}): Promise<void> {
    checkName('delete', 'name', name);
    const { signal, dryRun, ...given } = parseOptionsWith(callSchemas.delete, options);
    const kind = { apiVersion: 'v1', kind: 'DeleteOptions' };
    const body = { ...kind, ...given, ...(dryRun ? { dryRun: ['All'] } : {}) };
    const call = { method: 'DELETE', name, body } as const;
    const answer = await this.#send(call, signal);
    if (!dryRun) this.#tell(call, answer);
  }

  async #apply(
    where: string,
    object: WireInput<T>,
    options: ApplyOptions,
    subresource: 'status' | undefined,
  ): Promise<T> {
    const { body, namespace, name } = this.#input(where, object);
    checkName(where, 'metadata.name', name);
    const { force, ...given } = parseOptionsWith(callSchemas.apply, options);
    if ((given.fieldManager ?? this.#options.fieldManager) === undefined) {
      const message = 'is required: a name unique to your controller';
      throw new ConfigurationError('OPTION_INVALID', where, [{ path: 'fieldManager', message }]);
    }
    const contentType = 'application/apply-patch+yaml';
    const call = { method: 'PATCH', namespace, name, body, contentType, query: { force } } as const;
    return this.#write(call, { ...given, subresource });
  }

  /** The body of a request, and the name and namespace of its object. */
  #input(where: string, object: object) {
    checkArgument(where, 'object', object, isObject, 'an object');
    const { apiVersion, kind } = this.#options;
    const body = { apiVersion, kind, ...object };
    const { name, namespace } = Object(Reflect.get(object, 'metadata'));
    return { body, name, namespace };
  }

  /** Sends a write, and returns the object as it is then. */
  async #write(call: Call, { signal, subresource, dryRun, fieldManager }: ReplaceOptions): Promise<T> {
    const query = {
      fieldManager: fieldManager ?? this.#options.fieldManager,
      fieldValidation: this.#options.fieldValidation,
      dryRun: dryRun ? 'All' : undefined,
      ...call.query,
    };
    const answer = await this.#send({ ...call, subresource, query }, signal);
    if (!dryRun) this.#tell(call, answer);
    return this.#object(answer);
  }

  /** Tells the reconcile that a write belongs to. */
  #tell({ method, name, namespace: given }: Call, answer: unknown): void {
    const { dispatcher } = this.#server;
    if (dispatcher.preview) return;
    const { apiVersion, kind, namespace = given } = this.#options;
    const isDelete = method === 'DELETE';
    reconcileScope.getStore()?.wrote({ dispatcher, apiVersion, kind, name, namespace, isDelete, answer });
  }

  /** Sends the request, and returns the body of the answer. */
  async #send(call: Call, signal: AbortSignal | undefined): Promise<unknown> {
    const { method, body, contentType = 'application/json' } = call;
    const { dispatcher, transport = dispatcher, maxResponseBytes } = this.#server;
    signal?.throwIfAborted();
    const path = this.#path(call, await this.#find(signal));
    const options = {
      origin: dispatcher.origin,
      path,
      method,
      headers: body === undefined ? headers : { ...headers, 'content-type': contentType },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    const answer = await sendRequest(transport, options, signal, maxResponseBytes, dispatcher.cluster);
    if (answer.statusCode >= 300) throw this.#refused(answer, dispatcher.log.explain(answer.statusCode, options));
    const value = tryParseJson(answer.body.toString());
    if (value === undefined) throw this.#unreadable(`${method} ${withoutQuery(path)} was not answered with JSON`);
    return value;
  }

  /** Where the kind is served. Others may wait for the same answer, and have other signals. */
  async #find(signal: AbortSignal | undefined): Promise<Resource> {
    const { kinds, dispatcher } = this.#server;
    try {
      return await abortable(() => kinds.find(this.#options, never), signal);
    } catch (error) {
      throw error instanceof ApiError ? error.of(dispatcher.cluster) : error;
    }
  }

  #path({ namespace, name, subresource, query = {}, method }: Call, resource: Resource): string {
    const given = this.#options.namespace ?? namespace;
    const { kind } = this.#options;
    const refuse = (message: string) => {
      throw new ConfigurationError('OPTION_INVALID', 'resource', [{ path: 'namespace', message }]);
    };
    if (!resource.namespaced && given !== undefined) refuse(`is ${given}, and ${kind} has no namespaces: leave it out`);
    if (resource.namespaced && given === undefined && (method !== 'GET' || name !== undefined))
      refuse(`is required, since ${kind} is namespaced: give it here, or in the object`);
    let path = `${this.#server.dispatcher.basePath}${listPath(this.#options, resource, given)}`;
    if (name !== undefined) path += `/${name}`;
    if (subresource !== undefined) path += `/${subresource}`;
    const search = new URLSearchParams();
    for (const [key, value] of Object.entries(query)) if (value !== undefined) search.set(key, String(value));
    return search.size === 0 ? path : `${path}?${search}`;
  }

  #refused({ statusCode, headers, body }: Answer, opening: string) {
    const { dispatcher, kinds } = this.#server;
    const text = body.toString();
    // The kind is gone, not only an object.
    if (statusCode === 404 && readStatus(text).name === undefined) kinds.forget(this.#options.apiVersion);
    const refusal = { statusCode, headers, text, isCut: false };
    return refusalError(opening, refusal, (...shown) => dispatcher.shown(...shown), dispatcher.cluster);
  }

  #object(value: unknown): T {
    if (!isObject(value)) throw this.#unreadable('the answer is no object');
    return value as T; // an API server's own
  }

  #unreadable(why: string): RequestError {
    const message = `${why}: check server, and the proxies and gateways in between`;
    return new RequestError('RESPONSE_INVALID', message, {}, this.#server.dispatcher.cluster);
  }
}

const never = new AbortController().signal;
