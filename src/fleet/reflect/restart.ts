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

/** By status codes, and by codes of errors. */
const reasons: Readonly<Record<string | number, RestartReason>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  410: 'expired',
  429: 'throttled',
  API_TIMEOUT: 'timeout',
  KIND_NOT_SERVED: 'not_found',
  API_RESPONSE_INVALID: 'malformed',
  LIST_TOO_LARGE: 'too_large',
  PROVIDER_CHANGED: 'provider_changed',
};

function reasonFor(error: Error, statusCode: number | undefined): RestartReason {
  if (statusCode !== undefined && statusCode > 0)
    return reasons[statusCode] ?? (statusCode >= 500 ? 'server_error' : 'other');
  if (error instanceof MalformedResponse) return 'malformed';
  if (error instanceof WatchEnded) return 'server_error';
  if (error instanceof WatchClosed) return 'closed';
  if (error instanceof PluginError) return 'credential';
  if (error instanceof CredentialsError) return reasons[error.code] ?? 'connection';
  return 'connection';
}
