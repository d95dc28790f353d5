import { printable } from '../util/printable.ts';
import type { FleetErrorCode } from './codes.ts';
import { CredentialsError, maxFieldBytes } from './credentials-error.ts';

/** The known facts of a failure in a fleet, without secrets. */
export interface FleetFailure extends ErrorOptions {
  /** `namespace/name` of the ClusterProfile. */
  readonly cluster?: string;
  /** The HTTP status with which an API server refused. */
  readonly statusCode?: number;
  /** The reason in the `Status` of an API server that refused, for example `Forbidden`. */
  readonly reason?: string;
  readonly retryAfterMs?: number;
  /** With `CLUSTER_NOT_OWNED`: the identity of the replica that owns the cluster, if known. */
  readonly owner?: string;
}

/** A cluster of a fleet cannot be used, or its API server did not answer as it should. */
export class FleetError extends CredentialsError {
  declare readonly name: 'FleetError';
  override readonly retryable: boolean;
  override readonly retryAfterMs: number | undefined;
  declare readonly code: FleetErrorCode;
  readonly cluster: string | undefined;
  readonly statusCode: number | undefined;
  readonly reason: string | undefined;
  readonly owner: string | undefined;

  constructor(code: FleetErrorCode, message: string, failure: FleetFailure = {}) {
    const { cluster, statusCode, reason, retryAfterMs, owner, ...options } = failure;
    super('FleetError', code, message, options);
    this.cluster = cluster;
    this.statusCode = statusCode;
    this.reason = reason === undefined ? undefined : printable(reason, maxFieldBytes);
    this.owner = owner;
    this.retryAfterMs = retryAfterMs;
    this.retryable = !['CLUSTER_NOT_FOUND', 'FLEET_CLOSED', 'SHARDS_DIFFER'].includes(code);
  }
}
