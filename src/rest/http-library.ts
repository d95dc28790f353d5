import { type RequestContext, ResponseContext, wrapHttpLibrary } from '@kubernetes/client-node';
import type { Dispatcher } from 'undici';
import { RequestError } from '../errors/index.ts';
import { type Answer, sendRequest } from './answer.ts';
import type { ClusterLog } from './transport/cluster-log.ts';

/**
 * client-node's generated clients straight on the dispatcher instead of on `fetch`, which costs half of the rate. Answers as
 * client-node's own library does, but does not follow redirects, and fails with our own errors.
 */
export function createHttpLibrary(
  dispatcher: Dispatcher,
  maxResponseBytes: number,
  log: Pick<ClusterLog, 'cluster' | 'explain'>,
): ReturnType<typeof wrapHttpLibrary> {
  return wrapHttpLibrary({ send: (context) => send(context, dispatcher, maxResponseBytes, log) });
}

/**
 * A header that this package adds to answers that are errors: an `ApiException` prints its headers, and so says which cluster it
 * is about, and why a credential was refused.
 */
const explanation = 'clusterprofile-credentials';

async function send(
  context: RequestContext,
  dispatcher: Dispatcher,
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
  const answer = await sendRequest(dispatcher, options, signal, maxResponseBytes, log.cluster);
  if (isForeignPage(answer, options.path)) {
    const message = `${method} ${url.pathname} was answered with an HTML page: the endpoint is not a Kubernetes API; check server, and the proxies and gateways in between`;
    throw new RequestError('RESPONSE_INVALID', message, { statusCode: answer.statusCode }, log.cluster);
  }
  const { statusCode, headers } = answer;
  const more = statusCode < 400 ? {} : { [explanation]: log.explain(statusCode, options) };
  const joined = joinHeaders(headers);
  // client-node quotes one that it does not know in an error, and the server may have echoed the token in it.
  const type = joined['content-type'];
  if (type !== undefined && !knownType.test(type)) joined['content-type'] = 'application/octet-stream';
  const text = async () => answer.body.toString('utf8');
  const binary = async () => answer.body;
  const stream = () => new Blob([new Uint8Array(answer.body)]).stream();
  return new ResponseContext(statusCode, { ...joined, ...more }, { text, binary, stream });
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
