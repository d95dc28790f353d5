/** Where a request may go. */
import { staysBelow } from '../../access/path-bounds.ts';
import { RequestError } from '../../errors/index.ts';
import { printable } from '../../util/printable.ts';
import type { Layer, RequestOwner } from './layer.ts';
import { Relay } from './relay.ts';

/** Refuses a request to another origin, to a path that `allowedServers` does not allow, and one that the fence holds back. */
export const bounds: Layer = (owner, next) => (request, handler) => {
  const { options, connection } = request;
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
  return refusalOf(owner, 'PATH_NOT_ALLOWED', message, owner.shown(path.replace(/[?#].*/s, ''), longestTarget));
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
