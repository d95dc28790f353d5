/** Answers a request: finds the resource of its URL, and does what the method does with a collection, an object, or a subresource. */
import { buffer } from 'node:stream/consumers';
import { ApiState, type ApiStateOptions } from './api-state.ts';
import { definitionType, notImplementedVersions, serviceAccountType } from './built-in-types.ts';
import { discover, servesGroup, version } from './discovery.ts';
import {
  type Call,
  isDryRun,
  type KindCall,
  mediaTypeOf,
  type ObjectCall,
  onlyMetadata,
  parseBody,
  type Request,
  type Response,
  sendError,
  sendJson,
  sendText,
  targetOf,
  wantsMetadata,
} from './http.ts';
import type { JsonObject } from './json.ts';
import { known, readObject } from './kinds.ts';
import { type ListOptions, listObjects, listOptionsOf } from './list.ts';
import type { Writer } from './managed-fields.ts';
import { present, timestamp } from './objects.ts';
import { appliedBy, writtenBy } from './patch.ts';
import { ApiError, badRequest, methodNotAllowed, noSuchResource, notImplemented, PageNotFound } from './status.ts';
import { review, reviewType, ServiceAccountTokens, type User } from './tokens.ts';
import { Watch } from './watch.ts';
import { createObject, deleteObject, deleteOptionsOf, replaceObject } from './write.ts';

const checks = ['healthz', 'livez', 'readyz'];

export class FakeApiServer {
  readonly state: ApiState;
  readonly tokens: ServiceAccountTokens;
  readonly #name: string;

  constructor(options: ApiStateOptions & { readonly name: string }) {
    this.state = new ApiState(options);
    this.tokens = new ServiceAccountTokens(this.state);
    this.#name = options.name;
  }

  /** Answers a request of a user. Every error becomes a Status. */
  async answer(request: Request, response: Response, url: string, user: User): Promise<void> {
    try {
      await this.#answer(request, response, url, user);
    } catch (error) {
      if (response.headersSent || (request.destroyed && !request.complete)) return;
      const message = error instanceof Error ? error.message : String(error);
      const internal = () => new ApiError(500, `Internal error occurred: ${message}`, { causes: [{ message }] });
      sendError(response, error instanceof ApiError ? error : internal());
    }
  }

  async #answer(request: Request, response: Response, url: string, user: User): Promise<void> {
    const parsed = URL.parse(`https://localhost${url}`);
    if (!parsed) throw badRequest('the path is not a URL');
    const parts = parsed.pathname
      .split('/')
      .filter((part) => part !== '')
      .map(decodeURIComponent);
    const target = targetOf(parts);
    const method = request.method ?? 'GET';
    if (!target) return this.#answerAboutItself(method, response, parts);
    const metadataOnly = wantsMetadata(request);
    const mediaType = mediaTypeOf(request);
    const body = method === 'GET' ? Buffer.alloc(0) : await buffer(request);
    const query = parsed.searchParams;
    const call = { ...target, method, query, metadataOnly, mediaType, body, request, response };
    const answer = this.#resource(call, user);
    if (answer) sendJson(response, response.statusCode, metadataOnly ? onlyMetadata(answer) : answer);
  }

  #answerAboutItself(method: string, response: Response, parts: readonly string[]): void {
    const [first = ''] = parts;
    if (!['api', 'apis', 'version', ...checks].includes(first)) throw new PageNotFound();
    if (method !== 'GET') throw methodNotAllowed();
    if (checks.includes(first)) return sendText(response, 200, 'ok');
    sendJson(response, 200, first === 'version' ? version(this.#name) : discover(this.state, parts));
  }

  /** What is sent; `undefined` if a watch has begun. Throws an `ApiError`. */
  #resource(call: Call, user: User): JsonObject | undefined {
    const { group, version, plural, namespace, name, subresource } = call;
    const isReview = group === reviewType.group && version === reviewType.version && plural === reviewType.plural;
    if (isReview && namespace === undefined && name === undefined) return this.#review(call, user);
    const type = this.state.type(group, version, plural);
    if (!type) {
      if (notImplementedVersions.includes(`${group}/${version}`)) throw notImplemented(`${plural}.${group}`);
      throw group === '' || servesGroup(this.state, group) ? noSuchResource() : new PageNotFound();
    }
    if (namespace !== undefined && !type.namespaced) throw noSuchResource();
    if (name === undefined) return this.#collection({ ...call, type });
    if (type.namespaced && namespace === undefined) throw noSuchResource();
    const one = { ...call, type, name };
    return subresource === undefined ? this.#object(one) : this.#subresource(one, subresource);
  }

  #review(call: Call, user: User): JsonObject {
    if (call.method !== 'POST') throw methodNotAllowed();
    if ('impersonate-user' in call.request.headers) {
      throw notImplemented('a SelfSubjectReview of a request that impersonates a user');
    }
    call.response.statusCode = 201;
    return review(parseBody(call), user, this.state.clock());
  }

  #collection(call: KindCall): JsonObject | undefined {
    const { method, query, type, namespace, response } = call;
    if (type.namespaced && namespace === undefined && method !== 'GET') throw methodNotAllowed();
    switch (method) {
      case 'GET': {
        const options = listOptionsOf(query, type, namespace);
        if (!options.watch) return listObjects(this.state, type, options);
        return this.#watch(call, options);
      }
      case 'POST': {
        const given = readObject(type, known(call, parseBody(call)));
        const writer = this.#writer(call);
        const object = this.#stored(call, () => createObject(this.state, type, namespace, given, writer));
        response.statusCode = 201;
        return present(type, object);
      }
      case 'DELETE':
        return this.#deleteCollection(call);
      default:
        throw type.custom ? badRequest('name must be provided') : methodNotAllowed();
    }
  }

  #watch({ type, metadataOnly, response }: KindCall, options: ListOptions): undefined {
    const watch = new Watch(this.state, type, options, metadataOnly);
    response.setHeader('content-type', 'application/json');
    if ('flushHeaders' in response) response.flushHeaders();
    watch.pipe(response);
    response.on('close', () => watch.destroy());
    return undefined;
  }

  /** Every object that is selected, each as if it were deleted alone. */
  #deleteCollection(call: KindCall): JsonObject {
    const { type, namespace, query } = call;
    if (!type.deleteCollection) throw methodNotAllowed();
    const options = deleteOptionsOf(query, call);
    const list = listObjects(this.state, type, listOptionsOf(query, type, namespace));
    for (const { metadata } of list.items) deleteObject(this.state, { type, namespace, name: metadata.name }, options);
    return list;
  }

  #object(call: ObjectCall): JsonObject {
    const { method, type, query } = call;
    if (method === 'GET') return present(type, this.state.get(call));
    if (method === 'DELETE') return deleteObject(this.state, call, deleteOptionsOf(query, call));
    return this.#write(call);
  }

  #subresource(call: ObjectCall, subresource: string): JsonObject {
    const { type, name, namespace = '', method, response } = call;
    if (subresource === 'status' && type.status)
      return method === 'GET' ? this.#object(call) : this.#write(call, 'status');
    if (subresource === 'token' && type === serviceAccountType) {
      if (method !== 'POST') throw methodNotAllowed();
      response.statusCode = 201;
      return this.tokens.request(namespace, name, parseBody(call));
    }
    throw notImplemented(`the subresource ${type.plural}/${subresource}`);
  }

  /** A client that does not name its field manager is the first word of its user agent. */
  #writer({ query, request }: Call): Writer {
    const [program = ''] = (request.headers['user-agent'] ?? '').split('/');
    return {
      manager: query.get('fieldManager') || program.slice(0, 128) || 'unknown',
      time: timestamp(this.state.clock()),
    };
  }

  #stored<T>({ query, type }: KindCall, write: () => T): T {
    const dryRun = isDryRun(query.getAll('dryRun'));
    if (dryRun && type === definitionType) throw notImplemented(`dryRun of a write of a ${type.kind}`);
    return this.state.write(dryRun, write);
  }

  /** A PUT or a PATCH. */
  #write(call: ObjectCall, subresource?: 'status'): JsonObject {
    const { type, response } = call;
    const before = this.state.find(call);
    const applied = appliedBy(call);
    const object = this.#stored(call, () => {
      const writer = { ...this.#writer(call), subresource, applied };
      return replaceObject(this.state, call, before, writtenBy(call, before, writer), writer);
    });
    if (!before) response.statusCode = 201;
    return present(type, object);
  }
}
