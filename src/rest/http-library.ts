import { type RequestContext, ResponseContext, wrapHttpLibrary } from '@kubernetes/client-node';
import type { Dispatcher } from 'undici';
import { RequestError } from '../errors.ts';
import { type Answer, sendRequest } from './answer.ts';
import type { Outcome, RequestRetries } from './request-retries.ts';
import type { ClusterLog } from './transport/cluster-log.ts';

/** A dispatcher that also says how long to wait for the next try: no longer than it lasts itself. */
export type PausingDispatcher = Dispatcher & { pause(ms: number, signal?: AbortSignal): Promise<void> };

/**
 * client-node's generated clients straight on the dispatcher instead of on `fetch`, which costs half of the rate. Answers as
 * client-node's own library does, but does not follow redirects, and fails with our own errors.
 */
export function createHttpLibrary(
  dispatcher: PausingDispatcher,
  retries: RequestRetries,
  maxResponseBytes: number,
  log: Pick<ClusterLog, 'cluster' | 'explain'>,
): ReturnType<typeof wrapHttpLibrary> {
  return wrapHttpLibrary({ send: (context) => send(context, dispatcher, retries, maxResponseBytes, log) });
}

/**
 * A header that this package adds to answers that are errors: an `ApiException` prints its headers, and so says which cluster it
 * is about, and why a credential was refused.
 */
const explanation = 'clusterprofile-credentials';

async function send(
  context: RequestContext,
  dispatcher: PausingDispatcher,
  retries: RequestRetries,
  maxResponseBytes: number,
  log: Pick<ClusterLog, 'cluster' | 'explain'>,
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
  // Anything else is used up by the first try.
  const repeatable = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
  for (let tries = 1; ; tries += 1) {
    const outcome = await sendRequest(dispatcher, options, signal, maxResponseBytes, log.cluster).catch(
      (error: unknown) => ({
        error,
      }),
    );
    const pauseMs =
      repeatable && !signal?.aborted ? retries.pauseAfter(method, options.path, tries, outcome) : undefined;
    if (pauseMs === undefined && 'discard' in outcome && isForeignPage(outcome, options.path)) {
      outcome.discard();
      const message = `${method} ${url.pathname} was answered with a page of HTML: it is no Kubernetes API that answers there; see server, and what stands between`;
      throw new RequestError('RESPONSE_INVALID', message, { statusCode: outcome.statusCode }, log.cluster);
    }
    if (pauseMs === undefined) return toResponse(outcome, (statusCode) => log.explain(statusCode, options));
    if ('discard' in outcome) outcome.discard();
    await dispatcher.pause(pauseMs, signal);
  }
}

/** A page of a login or of a proxy, which the client would take for an empty object. A pod behind the API may answer with pages. */
function isForeignPage({ statusCode, headers }: Answer, path: string): boolean {
  return (
    statusCode < 300 && headers['content-type']?.startsWith('text/html') === true && !/\/proxy(?:[/?]|$)/.test(path)
  );
}

function toResponse(
  outcome: Answer | (Outcome & { readonly error: unknown }),
  explain: (statusCode: number) => string,
): ResponseContext {
  if ('error' in outcome) throw outcome.error;
  const { statusCode, headers } = outcome;
  const more = statusCode < 400 ? {} : { [explanation]: explain(statusCode) };
  return new ResponseContext(statusCode, { ...joinHeaders(headers), ...more }, outcome);
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
