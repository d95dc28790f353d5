/**
 * client-node's generated clients straight on the dispatcher instead of on `fetch`, which costs half of the rate. They are made with
 * implementations of client-node's public interfaces, since its own classes would load all of it. Responses are as from its own library,
 * but redirects are not followed, and a failed request rejects with our own error.
 */
import type { ApiConstructor, ApiType, Observable, RequestContext, ResponseContext } from '@kubernetes/client-node';
import type { Dispatcher } from 'undici';
import { RequestError } from '../errors/index.ts';
import type { AuthenticatedDispatcher } from './request/dispatcher.ts';
import { type Answer, sendRequest } from './request/response.ts';

/** A client of one API. */
export function generatedClient<T extends ApiType>(
  Client: ApiConstructor<T>,
  dispatcher: AuthenticatedDispatcher,
  maxResponseBytes: number,
): T {
  const { server } = dispatcher.cluster;
  return new Client({
    baseServer: { makeRequestContext: (path, method) => requestOf(`${server}${path}`, method) },
    httpApi: { send: (context) => observe(send(context, dispatcher, maxResponseBytes)) },
    middleware: [],
    authMethods: {},
  });
}

// client-node's classes have private members besides, which only they themselves use, and never on objects of another class. Left out
// here: cookies, files and a dispatcher for each request.

function requestOf(givenUrl: string, method: ReturnType<RequestContext['getHttpMethod']>): RequestContext {
  let url = new URL(givenUrl);
  const headers: ReturnType<RequestContext['getHeaders']> = {};
  let body: ReturnType<RequestContext['getBody']>;
  let signal: AbortSignal | undefined;
  const request: Omit<RequestContext, 'addCookie' | 'getDispatcher' | 'setDispatcher'> = {
    getUrl: () => url.href.replace(/\/$/, ''),
    setUrl: (given) => {
      url = new URL(given);
    },
    getHttpMethod: () => method,
    getHeaders: () => headers,
    setHeaderParam: (name, value) => {
      const wanted = name.toLowerCase();
      for (const other in headers) if (other.toLowerCase() === wanted) delete headers[other];
      headers[name] = value;
    },
    setQueryParam: (name, value) => url.searchParams.set(name, value),
    appendQueryParam: (name, value) => url.searchParams.append(name, value),
    getBody: () => body,
    setBody: (given) => {
      body = given;
    },
    getSignal: () => signal,
    setSignal: (given) => {
      signal = given;
    },
  };
  return request as RequestContext; // as said above
}

function responseOf(httpStatusCode: number, headers: Record<string, string>, body: Buffer): ResponseContext {
  const response: Omit<ResponseContext, 'getParsedHeader' | 'getBodyAsFile'> = {
    httpStatusCode,
    headers,
    body: {
      text: async () => body.toString('utf8'),
      binary: async () => body,
      stream: () => new Blob([new Uint8Array(body)]).stream(),
    },
    getBodyAsAny: () => response.body.text(),
  };
  return response as ResponseContext; // as said above
}

function observe<T>(promise: Promise<T>): Observable<T> {
  const observable: Pick<Observable<T>, keyof Observable<T>> = {
    toPromise: () => promise,
    pipe: (callback) => observe(promise.then(callback)),
  };
  return observable as Observable<T>; // as said above
}

/** A header that is added to errors: an `ApiException` prints its headers, and so its cluster, and why a credential was refused. */
const explanation = 'clusterprofile-credentials';

async function send(
  context: RequestContext,
  dispatcher: AuthenticatedDispatcher,
  maxResponseBytes: number,
): Promise<ResponseContext> {
  const signal = context.getSignal();
  signal?.throwIfAborted();
  const url = new URL(context.getUrl());
  const method = context.getHttpMethod().toString() as Dispatcher.HttpMethod; // an enum with the same names
  const body = context.getBody() as Dispatcher.DispatchOptions['body']; // fetch's bodies are undici's
  const options = {
    origin: url.origin,
    path: url.pathname + url.search,
    method,
    headers: { 'accept-encoding': 'gzip', 'user-agent': userAgent, ...context.getHeaders() },
    ...(body === undefined ? {} : { body }),
  };
  const answer = await sendRequest(dispatcher, options, signal, maxResponseBytes, dispatcher.cluster);
  if (isForeignPage(answer, options.path)) {
    const message = `${method} ${url.pathname} was answered with an HTML page: the endpoint is not a Kubernetes API; check server, and the proxies and gateways in between`;
    throw new RequestError('RESPONSE_INVALID', message, { statusCode: answer.statusCode }, dispatcher.cluster);
  }
  const { statusCode, headers } = answer;
  const more = statusCode < 400 ? {} : { [explanation]: dispatcher.log.explain(statusCode, options) };
  const joined = joinHeaders(headers);
  // client-node quotes one that it does not know in an error, and the server may have echoed the token in it.
  const type = joined['content-type'];
  if (type !== undefined && !knownType.test(type)) joined['content-type'] = 'application/octet-stream';
  return responseOf(statusCode, { ...joined, ...more }, answer.body);
}

/** What API servers answer with. */
const knownType =
  /^(?:application\/(?:json|yaml|octet-stream|vnd\.kubernetes\.protobuf|openmetrics-text)|text\/(?:plain|html))(?:; ?(?:charset=utf-8|stream=watch|version=[\d.]{1,8}))*$/i;

/** A page of a login or of a proxy, which the client would take for an empty object. A pod behind the API may answer with pages. */
function isForeignPage({ statusCode, headers }: Answer, path: string): boolean {
  return (
    statusCode < 300 && headers['content-type']?.startsWith('text/html') === true && !/\/proxy(?:[/?]|$)/.test(path)
  );
}

const userAgent = 'kubernetes-client-javascript (clusterprofile-credentials)';

function joinHeaders(headers: Answer['headers']): Record<string, string> {
  const joined: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) joined[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return joined;
}
