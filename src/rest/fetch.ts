/** `fetch` for one config: what a caller gives is read here, and a request that fails rejects with an error of this package. */
import { fetch, FormData as OwnFormData, type RequestInit as OwnRequestInit } from 'undici';
import { CredentialsError, RequestError } from '../errors/index.ts';
import { isSignal, kindOf } from '../util/guards.ts';
import type { AuthenticatedDispatcher } from './request/dispatcher.ts';
import { originRefusal } from './request/paths.ts';

/** For messages: what `config.fetch` takes. */
const takes = 'fetch takes a URL of this server, a path such as /api/v1/namespaces, or a Request';

/** `Request`, headers and body may be those of Node or of another undici: this package's own would send them as `[object Request]`. */
export async function fetchThrough(
  dispatcher: AuthenticatedDispatcher,
  target: unknown,
  given: RequestInit = {},
): Promise<Response> {
  let signal: unknown;
  try {
    const { text, init: own } = readTarget(target);
    const init: object = { ...own, ...(isRequest(given) ? fieldsOf(given) : given) };
    signal = Reflect.get(init, 'signal');
    if (signal !== undefined && signal !== null && !isSignal(signal)) {
      const message = `the request cannot be sent: its signal is ${kindOf(signal)}: give an AbortSignal`;
      throw new RequestError('REQUEST_INVALID', message);
    }
    const body = bodyOf(Reflect.get(init, 'body'));
    const settings = { ...init, body, dispatcher: dispatcherOf(dispatcher, body) } as OwnRequestInit; // undici checks it
    const url = urlOf(text, dispatcher.cluster.server);
    // undici would answer data: and blob: by itself.
    if (!/^https?:$/.test(url.protocol)) throw originRefusal(dispatcher, url.protocol);
    return (await fetch(url, settings)) as unknown as Response; // the same interface, whose types callers have
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    if (cause instanceof CredentialsError) throw cause;
    // What the caller aborts with stays as it is.
    if (signal instanceof AbortSignal && signal.aborted) throw error;
    if (error instanceof CredentialsError) throw dispatcher.toOwnError(error);
    if (cause instanceof Error) throw dispatcher.toOwnError(refused(cause.message, withoutInput(cause)));
    throw dispatcher.toOwnError(refused(wordsOf(error)));
  }
}

/** fetch makes a stream of every body, which undici writes bit by bit. Text is written at once, and can be sent again as it is. */
function dispatcherOf(own: AuthenticatedDispatcher, body: unknown): Pick<AuthenticatedDispatcher, 'dispatch'> {
  if (typeof body !== 'string') return own;
  // A redirect may have dropped the body.
  return { dispatch: (options, handler) => own.dispatch(options.body ? { ...options, body } : options, handler) };
}

function refused(why: string, cause?: Error): RequestError {
  return new RequestError('REQUEST_INVALID', `the request failed: ${why}`, cause ? { cause } : {});
}

/** Of a redirect to no URL: the URL that the error holds is the server's, and may hold the token. */
function withoutInput(cause: Error): Error {
  const { name, message } = cause;
  return Object.hasOwn(cause, 'input') ? Object.assign(new Error(message), { name }) : cause;
}

function wordsOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  // A header's value may be a credential.
  return message.replace(/".*" is an invalid header value/s, 'a header has an invalid value');
}

/** A text without a scheme is a path below the server's own. */
function urlOf(text: string, server: string): URL {
  const absolute = /^[a-z][a-z0-9+.-]*:/i.test(text) ? text : `${server}${text.startsWith('/') ? '' : '/'}${text}`;
  const url = URL.parse(absolute);
  if (!url) throw new RequestError('REQUEST_INVALID', `the request cannot be sent: ${takes}`);
  if (url.username !== '' || url.password !== '') {
    throw new RequestError('REQUEST_INVALID', 'the request cannot be sent: its URL has a login: leave it out');
  }
  return url;
}

function isRequest(value: unknown): value is Request {
  const { url, method, headers } = Object(value);
  return typeof url === 'string' && typeof method === 'string' && Symbol.iterator in Object(headers);
}

function readTarget(target: unknown): { readonly text: string; readonly init: object } {
  if (typeof target === 'string') return { text: target, init: {} };
  if (target instanceof URL) return { text: target.href, init: {} };
  if (isRequest(target)) return { text: target.url, init: fieldsOf(target) };
  throw new RequestError('REQUEST_INVALID', `the request cannot be sent: ${takes}, and was given ${kindOf(target)}`);
}

function fieldsOf(request: Request): object {
  // The rest of a Request, such as `cache` and `referrer`, is for pages.
  const { method, headers, body, signal, redirect } = request;
  return { method, headers: [...headers], body, duplex: 'half', signal, redirect };
}

/** undici would send an object of no class that it knows as its name: `[object Object]`. */
function bodyOf(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || body instanceof OwnFormData) return body;
  const kind = kindOf(body);
  // Of another undici, or of Node.
  if (kind === 'FormData' && Symbol.iterator in body) {
    const form = new OwnFormData();
    for (const [name, value] of body as FormData) form.append(name, value as string); // or a file, which it takes too
    return form;
  }
  if (!['Object', 'FormData'].includes(kind) || Symbol.asyncIterator in body) return body;
  const message = `the request cannot be sent: its body is ${kind}: give text, such as JSON.stringify makes it, bytes or a stream`;
  throw new RequestError('REQUEST_INVALID', message);
}
