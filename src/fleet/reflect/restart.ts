/** Why a reflector has to restart, and how. Pure. */
import { ApiError, CredentialsError, PluginError } from '../../errors/index.ts';
import { MalformedResponse, readStatus, type Shown } from '../../rest/api/api-status.ts';
import { printable } from '../../util/printable.ts';

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
  | 'too_large'
  | 'provider_changed'
  | 'other';

/** What a reflector does about a failure. */
export interface Restart {
  readonly reason: RestartReason;
  readonly error: Error;
  /** The known version cannot be resumed: list again. */
  readonly relist: boolean;
  /** Milliseconds that the server, or the plugin's backoff, asks for. */
  readonly atLeastMs: number;
}

/** The server ended the watch with an error event. */
export class WatchEnded extends Error {
  override readonly name = 'WatchEnded';
  readonly statusCode: number;

  constructor(status: unknown, shown?: Shown) {
    const { code = 0, reason, message = reason ?? 'no message' } = readStatus(status, shown);
    super(printable(`the watch ended with an error: ${message}`, 4_096));
    this.statusCode = code === 0 && (reason === 'Expired' || reason === 'Gone') ? 410 : code;
  }
}

/** The watch ended too soon to be useful. */
export class WatchClosed extends Error {
  override readonly name = 'WatchClosed';
}

/** The longest `Retry-After` that is honoured, in milliseconds. */
const longestAskedMs = 600_000;

export function restartFor(caught: unknown): Restart {
  const error = caught instanceof Error ? caught : new Error(String(caught));
  const asked = error instanceof CredentialsError ? (error.retryAfterMs ?? 0) : 0;
  const statusCode = error instanceof ApiError || error instanceof WatchEnded ? error.statusCode : undefined;
  const reason = reasonFor(error, statusCode);
  // An error event may be about the version. A version that a restored backup does not have never comes.
  const isVersionWrong = error instanceof WatchEnded || /too large resource version/i.test(error.message);
  return {
    reason,
    error,
    relist: isVersionWrong || ['expired', 'malformed', 'not_found', 'too_large'].includes(reason),
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
    if (error.code === 'LIST_TOO_LARGE') return 'too_large';
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
