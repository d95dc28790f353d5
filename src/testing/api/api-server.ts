/** Answers a request: finds the resource of its URL, and sends the result. */

import { buffer } from 'node:stream/consumers';
import { ApiState, type ApiStateOptions } from './api-state.ts';
import { discover, version } from './discovery.ts';
import {
  mediaTypeOf,
  onlyMetadata,
  type Request,
  type Response,
  sendError,
  sendJson,
  sendText,
  targetOf,
  wantsMetadata,
} from './http.ts';
import { type Reply, ResourceRequests } from './resource-requests.ts';
import { ApiError, badRequest, methodNotAllowed, PageNotFound } from './status.ts';
import { ServiceAccountTokens, type User } from './tokens.ts';

interface ApiServerOptions extends ApiStateOptions {
  /** Shown in `/version`. */
  readonly name: string;
}

const checks = ['healthz', 'livez', 'readyz'];

export class FakeApiServer {
  readonly state: ApiState;
  readonly tokens: ServiceAccountTokens;
  readonly #name: string;
  readonly #resources: ResourceRequests;

  constructor(options: ApiServerOptions) {
    this.state = new ApiState(options);
    this.tokens = new ServiceAccountTokens(this.state);
    this.#name = options.name;
    this.#resources = new ResourceRequests(this.state, this.tokens);
  }

  /** Answers a request of a user. Every error becomes a Status. */
  async answer(request: Request, response: Response, url: string, user: User): Promise<void> {
    try {
      await this.#answer(request, response, url, user);
    } catch (error) {
      if (response.headersSent || (request.destroyed && !request.complete)) return;
      const message = error instanceof Error ? error.message : String(error);
      const internal = () =>
        new ApiError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });
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
    const call = {
      method,
      metadataOnly,
      target,
      query: parsed.searchParams,
      mediaType: mediaTypeOf(request),
      userAgent: request.headers['user-agent'] ?? '',
      body: method === 'GET' ? Buffer.alloc(0) : await buffer(request),
      user,
      impersonates: 'impersonate-user' in request.headers,
      response,
    };
    const reply: Reply | undefined = this.#resources.answer(call);
    if (reply) sendJson(response, reply.code, metadataOnly ? onlyMetadata(reply.body) : reply.body);
  }

  #answerAboutItself(method: string, response: Response, parts: readonly string[]): void {
    const [first = ''] = parts;
    if (!['api', 'apis', 'version', ...checks].includes(first)) throw new PageNotFound();
    if (method !== 'GET') throw methodNotAllowed();
    if (checks.includes(first)) return sendText(response, 200, 'ok');
    sendJson(response, 200, first === 'version' ? version(this.#name) : discover(this.state, parts));
  }
}
