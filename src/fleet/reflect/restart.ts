/** Why a reflector has to begin again, and what that takes. Pure. */
import { CredentialsError, FleetError, PluginError } from '../../errors.ts';
import { printable } from '../../printable.ts';
import { readStatus, type Shown } from '../api-status.ts';
import { MalformedResponse } from './malformed.ts';

/** Stable words, for metrics. */
export type RestartReason =
  | 'expired'
  | 'closed'
  | 'timeout'
  | 'connection'
  | 'credential'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'throttled'
  | 'server_error'
  | 'malformed'
  | 'provider_changed'
  | 'other';

/** What a reflector does about a failure. */
export interface Restart {
  readonly reason: RestartReason;
  readonly error: Error;
  /** What was known is of no use for going on: there has to be a new list. */
  readonly relist: boolean;
  /** Milliseconds that the server, or the plugin's backoff, asks for. */
  readonly atLeastMs: number;
}

/** The server has said in a watch that it cannot go on. */
export class WatchEnded extends Error {
  override readonly name = 'WatchEnded';
  readonly statusCode: number;

  constructor(status: unknown, shown?: Shown) {
    const { code = 0, reason, message = reason ?? 'no message' } = readStatus(status, shown);
    super(printable(`the watch ended with an error: ${message}`, 4_096));
    this.statusCode = code === 0 && (reason === 'Expired' || reason === 'Gone') ? 410 : code;
  }
}

/** A watch that ended before it was of use. */
export class WatchClosed extends Error {
  override readonly name = 'WatchClosed';
}

/** No `Retry-After` holds longer, in milliseconds. */
const longestAskedMs = 600_000;

export function restartFor(caught: unknown): Restart {
  const error = caught instanceof Error ? caught : new Error(String(caught));
  const asked = error instanceof CredentialsError ? (error.retryAfterMs ?? 0) : 0;
  const statusCode = error instanceof FleetError || error instanceof WatchEnded ? error.statusCode : undefined;
  const reason = reasonFor(error, statusCode);
  // After any error within a watch its version is doubtful; a version from a future that was restored away never comes.
  const doubtful = error instanceof WatchEnded || /too large resource version/i.test(error.message);
  return {
    reason,
    error,
    relist: doubtful || reason === 'expired' || reason === 'malformed' || reason === 'not_found',
    atLeastMs: Math.min(asked, longestAskedMs),
  };
}

function reasonFor(error: Error, statusCode: number | undefined): RestartReason {
  if (statusCode !== undefined && statusCode > 0) return reasonForStatus(statusCode);
  if (error instanceof MalformedResponse) return 'malformed';
  if (error instanceof WatchEnded) return 'server_error';
  if (error instanceof WatchClosed) return 'closed';
  if (error instanceof PluginError) return 'credential';
  if (error instanceof CredentialsError) {
    if (error.code === 'API_TIMEOUT') return 'timeout';
    if (error.code === 'KIND_NOT_SERVED') return 'not_found';
    if (error.code === 'API_RESPONSE_INVALID') return 'malformed';
    if (error.code === 'PROVIDER_CHANGED') return 'provider_changed';
  }
  return 'connection';
}

function reasonForStatus(statusCode: number): RestartReason {
  switch (statusCode) {
    case 401:
      return 'unauthorized';
    case 403:
      return 'forbidden';
    case 404:
      return 'not_found';
    case 410:
      return 'expired';
    case 429:
      return 'throttled';
    default:
      return statusCode >= 500 ? 'server_error' : 'other';
  }
}
