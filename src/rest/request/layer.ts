/** What the layers of a request share. Each is a handler around a handler (`relay.ts`), as undici's interceptors are. */
import type { Dispatcher } from 'undici';
import type { ImpersonationHeaders } from '../../access/impersonation.ts';
import type { Segments } from '../../access/url-pattern.ts';
import type { Credential } from '../../exec/credential.ts';
import { printable } from '../../util/printable.ts';
import type { ClusterLog } from '../transport/cluster-log.ts';
import type { Connection } from '../transport/connection.ts';
import type { ClusterFacts } from '../transport/connection-errors.ts';
import type { ReplayableBody } from './replayable-body.ts';

/**
 * Whether a request is sent again after a pause: `never` if its caller does that by itself. A watch of client-node's, which ends at
 * any error, is tried again `until` then (`performance.now()`).
 */
export type Retry = 'never' | 'usual' | { readonly until: number };

/** A request on its way to the pool. */
export interface OutgoingRequest {
  readonly options: Dispatcher.DispatchOptions;
  readonly body: ReplayableBody;
  readonly connection: Connection;
  /** Long-running in the sense of kube-apiserver: exempt from `requestTimeoutMs`. */
  readonly longRunning: boolean;
  readonly retry: Retry;
  /** How often it has been sent, with the attempt under way. */
  sent: number;
}

/** The config that a request belongs to. */
export interface RequestOwner {
  readonly cluster: ClusterFacts;
  readonly log: ClusterLog;
  /** Says why nothing may be sent at this moment; absent where everything may, always. */
  readonly fence: (() => Error | undefined) | undefined;
  readonly origin: string;
  /** The path of the server's URL, without a slash at its end. */
  readonly basePath: string;
  readonly impersonation: ImpersonationHeaders | undefined;
  /** The paths that `allowedServers` binds all requests to. */
  readonly pathBounds: readonly Segments[] | undefined;
  /** The first `length` characters of a text from the server or a proxy in between, redacted. */
  shown(text: string, length: number): string;
  /** Resolves after `ms` milliseconds. Rejects when the signal or the config ends. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

/** Sends a request. Calls `onRequestStart` before it returns, and later the other callbacks of the handler. */
export type Send = (request: OutgoingRequest, handler: Dispatcher.DispatchHandler) => void;

/** One concern of every request of a config. */
export type Layer = (owner: RequestOwner, next: Send) => Send;

/** The path of a request, which may be anything if its caller has no types. */
export function withoutQuery(path: unknown): string {
  return String(path).replace(/[?#].*/s, '');
}

/** Method and path, without the query. */
export function requestName({ method, path }: Dispatcher.DispatchOptions): string {
  return `${method} ${printable(withoutQuery(path), 1_024)}`;
}

/** Warns that the server still refuses the credential. Not without one: anonymous requests may well be refused. */
export function warnOfRefusal(
  log: ClusterLog,
  credential: Credential | undefined,
  statusCode: number,
  consequence: string,
): void {
  if (!credential?.authorization && !credential?.keyPair) return;
  const { keyPair } = credential;
  const why =
    keyPair && keyPair.endsAt < Date.now()
      ? `its client certificate has expired (at ${new Date(keyPair.endsAt).toISOString()}): see why it is not renewed`
      : 'check whether the server knows its issuer and audience';
  log.rejected(`the server refuses the credential (${statusCode}), ${consequence}: ${why}`);
}
