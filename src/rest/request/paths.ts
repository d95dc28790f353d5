/** What the path of a request says: whether it may go there, whether it is long-running, and which object it is about. */
import type { Dispatcher } from 'undici';
import { staysBelow } from '../../access/url-pattern.ts';
import { RequestError } from '../../errors/index.ts';
import { printable } from '../../util/printable.ts';
import { withoutQuery } from '../transport/wire-request.ts';
import { type Layer, Relay, type RequestOwner } from './layer.ts';

/**
 * Refuses a request to another origin, to a path that `allowedServers` does not allow, one that the fence holds back, and one that would
 * become a socket.
 */
export const bounds: Layer = (request, handler, next) => {
  const { options, connection, owner } = request;
  if (options.upgrade || options.method === 'CONNECT') {
    const message =
      "config.dispatcher opens no WebSockets and tunnels: use client-node's Exec, Attach and PortForward, or ws with the options " +
      'that config.applyToHTTPSOptions fills';
    Relay.refuse(handler, new RequestError('REQUEST_INVALID', message).of(owner.cluster));
    return;
  }
  const origin = options.origin === undefined ? connection.origin : String(options.origin);
  const refusal =
    origin !== connection.origin && URL.parse(origin)?.origin !== connection.origin
      ? originRefusal(owner, origin)
      : (owner.fence?.() ?? pathRefusal(owner, String(options.path)));
  if (refusal) Relay.refuse(handler, refusal);
  else next(request, handler);
};

/** Why no request may be sent to another origin, a redirect's target too. The refusal is counted and logged. */
export function originRefusal(owner: RequestOwner, origin: string): RequestError {
  // Without path and user: a redirect's target can hold secrets.
  const target = owner.shown(originOf(origin), longestTarget);
  const only = `the credential and this connection are for ${owner.origin} only; see where the request, or a redirect, leads`;
  return refusalOf(owner, 'FOREIGN_ORIGIN', `a request to ${target} was refused: ${only}`, target);
}

/** Why no request may be sent to a path, a redirect's target too, or `undefined`. A refusal is counted and logged. */
export function pathRefusal(owner: RequestOwner, path: string): RequestError | undefined {
  const { pathBounds, origin } = owner;
  if (!pathBounds || staysBelow(pathBounds, path)) return undefined;
  const allowed = pathBounds.map((segments) => `${origin}/${segments.join('/')}`).join(', ');
  const message =
    `a request to a path outside of ${allowed} was refused: allowedServers of its provider binds it to that; ` +
    'see where the request, or a redirect of the server, leads';
  return refusalOf(owner, 'PATH_NOT_ALLOWED', message, owner.shown(withoutQuery(path), longestTarget));
}

/** Why nothing may be sent by a client whose path cannot be looked at, where `allowedServers` has paths. */
export function unboundRefusal(owner: RequestOwner): RequestError | undefined {
  if (!owner.pathBounds) return undefined;
  const message =
    'a connection for a client whose path cannot be checked was refused: allowedServers of its provider has a path; ' +
    'for WebSockets use ws 8.13 or later, else config.agent';
  return refusalOf(owner, 'PATH_NOT_ALLOWED', message, owner.origin);
}

function refusalOf(
  { cluster, log }: RequestOwner,
  code: 'FOREIGN_ORIGIN' | 'PATH_NOT_ALLOWED',
  message: string,
  target: string,
): RequestError {
  const error = new RequestError(code, message).of(cluster);
  log.refused(error, printable(target, longestTarget));
  return error;
}

/** For messages. A URL of another scheme has no origin. */
function originOf(text: string): string {
  const url = URL.parse(text);
  if (!url) return 'another origin';
  return url.origin === 'null' ? url.protocol : url.origin;
}

/** The length at which a refused target is cut off in messages, in characters, and then in bytes. */
const longestTarget = 1_024;

/** Subresources whose requests may be silent for as long as they like, as kube-apiserver has them. */
const longRunning: ReadonlySet<string | undefined> = new Set(['proxy', 'exec', 'attach', 'portforward', 'log']);

/** A boolean parameter of an API server is true whatever its value, but for these two. */
const streaming = /[?&](?:watch|follow)(?:=(?!(?:false|0)(?:&|$))|&|$)/i;

/** A quick check that most paths do not pass. A segment may be percent-encoded. */
const candidate = /\/(?:proxy|exec|attach|portforward|log)(?:[/?#]|$)|%/;

/**
 * Whether Kubernetes calls a request long-running: a watch, a followed log, or a subresource such as `exec` at the
 * place of a subresource, and not an object or a namespace of that name. `basePath` is that of the cluster's server.
 */
export function isLongRunning({ path: given }: Dispatcher.DispatchOptions, basePath: string): boolean {
  // A caller without types may give anything.
  const path = String(given);
  if (streaming.test(path)) return true;
  if (!candidate.test(path)) return false;
  const { name, subresource } = readApiPath(path, basePath) ?? {};
  return name !== undefined && longRunning.has(subresource);
}

/** What the path of a request is about. */
export interface ApiPath {
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Reads the path of an object, a collection or a subresource; `undefined` for another path. */
export function readApiPath(path: string, basePath: string): ApiPath | undefined {
  const all = withoutQuery(path);
  const below = all.startsWith(`${basePath}/`) ? all.slice(basePath.length) : all;
  const segments = below.split('/').filter(Boolean).map(decoded);
  const root = { api: 2, apis: 3 }[segments[0] ?? ''];
  if (root === undefined) return undefined;
  const [resource, name, subresource, ...rest] = segments.slice(root);
  if (resource === undefined) return undefined;
  const isInNamespace = resource === 'namespaces' && subresource !== undefined && !ofNamespace.has(subresource);
  return isInNamespace
    ? { resource: subresource, namespace: name, name: rest[0], subresource: rest[1] }
    : { resource, namespace: undefined, name, subresource };
}

/** Subresources of a namespace itself. */
const ofNamespace: ReadonlySet<string> = new Set(['status', 'finalize']);

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
