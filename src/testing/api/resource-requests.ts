/** Requests for resources: what each method does with a collection, an object, or a subresource. */

import type { ApiState } from './api-state.ts';
import { notImplementedVersions, type ResourceType } from './built-in-types.ts';
import { servesGroup } from './discovery.ts';
import { parseBody, parseJson, parseYaml, type Response, type Target } from './http.ts';
import type { Json, JsonObject } from './json.ts';
import { dropRenamed } from './kinds.ts';
import type { Writer } from './managed-fields.ts';
import { readObject, timestamp } from './metadata.ts';
import { present, type StoredObject } from './objects.ts';
import { patched, patchOf, readApplied, withApplied } from './patch.ts';
import { isDryRun, type ListOptions, listOptionsOf } from './query.ts';
import { listObjects } from './read.ts';
import { deleteObject, deleteOptionsOf } from './removal.ts';
import {
  badRequest,
  cannotBeHandled,
  methodNotAllowed,
  noSuchResource,
  notFound,
  notImplemented,
  PageNotFound,
  unexplained,
} from './status.ts';
import { review, reviewType, type ServiceAccountTokens, type User } from './tokens.ts';
import { Watch } from './watch.ts';
import { checkName, createObject, type Update, updateObject } from './write.ts';

interface Call {
  readonly method: string;
  readonly target: Target;
  readonly metadataOnly: boolean;
  readonly query: URLSearchParams;
  readonly mediaType: string;
  readonly userAgent: string;
  readonly body: Buffer;
  readonly user: User;
  /** The request has a header of impersonation. */
  readonly impersonates: boolean;
  readonly response: Response;
}

export interface Reply {
  readonly code: number;
  readonly body: JsonObject;
}

/** A call for one object of a kind. */
interface ObjectCall extends Call {
  readonly type: ResourceType;
  readonly name: string;
}

export class ResourceRequests {
  readonly #state: ApiState;
  readonly #tokens: ServiceAccountTokens;

  constructor(state: ApiState, tokens: ServiceAccountTokens) {
    this.#state = state;
    this.#tokens = tokens;
  }

  /** What is sent; `undefined` if a watch has begun. Throws an `ApiError`. */
  answer(call: Call): Reply | undefined {
    const { group, version, plural, namespace, name, subresource } = call.target;
    const isReview = group === reviewType.group && version === reviewType.version && plural === reviewType.plural;
    if (isReview && namespace === undefined && name === undefined) return this.#review(call);
    const type = this.#state.type(group, version, plural);
    if (!type) {
      if (notImplementedVersions.includes(`${group}/${version}`)) throw notImplemented(`${plural}.${group}`);
      throw group === '' || servesGroup(this.#state, group) ? noSuchResource() : new PageNotFound();
    }
    if (namespace !== undefined && !type.namespaced) throw noSuchResource();
    if (name === undefined) return this.#collection(type, call);
    if (type.namespaced && namespace === undefined) throw noSuchResource();
    const one = { ...call, type, name };
    return subresource === undefined ? this.#object(one) : this.#subresource(one, subresource);
  }

  #review({ method, body, mediaType, user, impersonates }: Call): Reply {
    if (method !== 'POST') throw methodNotAllowed();
    if (impersonates) throw notImplemented('a SelfSubjectReview of a request that impersonates a user');
    return { code: 201, body: review(parseBody(body, mediaType), user, this.#state.clock()) };
  }

  #collection(type: ResourceType, call: Call): Reply | undefined {
    const { method, query, target } = call;
    const { namespace } = target;
    if (type.namespaced && namespace === undefined && method !== 'GET') throw methodNotAllowed();
    switch (method) {
      case 'GET': {
        const options = listOptionsOf(query, type, namespace);
        if (options.watch) return this.#watch(type, options, call);
        return { code: 200, body: listObjects(this.#state, type, options) };
      }
      case 'POST': {
        const given = readObject(type, known(type, call, parseBody(call.body, call.mediaType)));
        const object = this.#stored(call, type, () =>
          createObject(this.#state, type, namespace, given, this.#writer(call)),
        );
        return { code: 201, body: present(type, object) };
      }
      case 'DELETE':
        return this.#deleteCollection(type, call);
      default:
        throw type.custom ? badRequest('name must be provided') : methodNotAllowed();
    }
  }

  #watch(type: ResourceType, options: ListOptions, { metadataOnly, response }: Call): undefined {
    const watch = new Watch(this.#state, { type, metadataOnly, options });
    response.statusCode = 200;
    response.setHeader('content-type', 'application/json');
    if ('flushHeaders' in response) response.flushHeaders();
    this.#state.watches.add(watch);
    response.on('close', () => this.#state.watches.delete(watch));
    watch.start(response);
    return undefined;
  }

  /** Every object that is selected, each as if it were deleted alone. */
  #deleteCollection(type: ResourceType, { query, target: { namespace }, body, mediaType }: Call): Reply {
    if (!type.deleteCollection) throw methodNotAllowed();
    const options = deleteOptionsOf(query, body, mediaType);
    const list = listObjects(this.#state, type, listOptionsOf(query, type, namespace));
    for (const { metadata } of list.items) deleteObject(this.#state, type, namespace, metadata.name, options);
    return { code: 200, body: list };
  }

  #object(call: ObjectCall): Reply {
    const { method, type, name, target, query } = call;
    if (method === 'GET') {
      return { code: 200, body: present(type, this.#state.get(type, target.namespace, name)) };
    }
    if (method === 'DELETE') {
      const options = deleteOptionsOf(query, call.body, call.mediaType);
      return { code: 200, body: deleteObject(this.#state, type, target.namespace, name, options) };
    }
    return this.#write(call);
  }

  #subresource(call: ObjectCall, subresource: string): Reply {
    const { type, name, target, method } = call;
    if (subresource === 'status' && type.status)
      return method === 'GET' ? this.#object(call) : this.#write(call, 'status');
    if (subresource === 'token' && type === this.#state.serviceAccounts) {
      if (method !== 'POST') throw methodNotAllowed();
      const body = parseBody(call.body, call.mediaType);
      return { code: 201, body: this.#tokens.request(target.namespace ?? '', name, body) };
    }
    throw notImplemented(`the subresource ${type.plural}/${subresource}`);
  }

  /** A client that does not name its field manager is the first word of its user agent. */
  #writer({ query, userAgent }: Call): Writer {
    const [program = ''] = userAgent.split('/');
    return {
      manager: query.get('fieldManager') || program.slice(0, 128) || 'unknown',
      time: timestamp(this.#state.clock()),
    };
  }

  #stored<T>({ query }: Call, type: ResourceType, write: () => T): T {
    const dryRun = isDryRun(query.getAll('dryRun'));
    if (dryRun && type === this.#state.definitions) throw notImplemented(`dryRun of a write of a ${type.kind}`);
    return this.#state.store.write(dryRun, write);
  }

  #write(call: ObjectCall, subresource?: 'status'): Reply {
    const { type, name, target } = call;
    const update = changeOf(call, { ...this.#writer(call), subresource });
    const { object, created } = this.#stored(call, type, () =>
      updateObject(this.#state, type, target.namespace, name, update),
    );
    return { code: created ? 201 : 200, body: present(type, object) };
  }
}

/** What a PUT or a PATCH makes of an object. */
function changeOf(call: ObjectCall, writer: Writer): Update {
  const { method, query, mediaType, name, target, type, body } = call;
  if (method === 'PUT') {
    const given = readObject(type, known(type, call, parseBody(body, mediaType)));
    checkName(type, target.namespace, name, given.metadata);
    return { change: () => given, writer };
  }
  if (method !== 'PATCH') throw methodNotAllowed();
  const { apply, force } = patchOf(type, mediaType, query);
  if (apply) {
    const patcher = { ...writer, applied: readApplied(type, name, known(type, call, parseYaml(body))) };
    return { change: (before) => withApplied(type, before, patcher, force), mayCreate: true, writer: patcher };
  }
  const change = (before: StoredObject | undefined) => {
    if (!before) throw notFound(type, name);
    return patched(type, mediaType, known(type, call, parseJson(body)), before);
  };
  return { change, writer };
}

/**
 * The body of a write without what a server drops, with its warning on the response. Throws a 400, or for an apply a 500, if the
 * server refuses it.
 */
function known(type: ResourceType, { mediaType, query, response }: Call, body: Json): Json {
  // Fields of a custom resource may have any name.
  if (type.custom) return body;
  const { known, unknown } = dropRenamed(body);
  if (unknown.length === 0) return body;
  if (mediaType === 'application/apply-patch+yaml') {
    throw unexplained(`failed to create typed patch object: .${unknown[0]}: field not declared in schema`);
  }
  const problems = unknown.map((path) => `unknown field "${path}"`).join(', ');
  const validation = query.get('fieldValidation') ?? 'Warn';
  if (validation === 'Strict') throw cannotBeHandled(type, `strict decoding error: ${problems}`);
  if (validation !== 'Ignore') response.setHeader('warning', `299 - ${JSON.stringify(problems)}`);
  return known;
}
