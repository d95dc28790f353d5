import { printable } from '../printable.ts';
import type { FleetErrorCode } from './codes.ts';
import { CredentialsError, maxFieldBytes, setClassName } from './credentials-error.ts';

/** What is known of a failure in a fleet, none of it secret. */
export interface FleetFailure extends ErrorOptions {
  /** `namespace/name` of the ClusterProfile. */
  readonly cluster?: string;
  /** Where an API server refused: its status. */
  readonly statusCode?: number;
  /** Where an API server refused: the reason in its `Status`, for example `Forbidden`. */
  readonly reason?: string;
  readonly retryAfterMs?: number;
  /** Of `CLUSTER_NOT_OWNED`: the identity of the replica that works on the cluster, where it is known. */
  readonly owner?: string;
}

/** A cluster of a fleet cannot be used, or its API server did not answer as it should. */
export class FleetError extends CredentialsError {
  static {
    setClassName(this, 'FleetError');
  }

  override readonly name = 'FleetError';
  override readonly retryable: boolean;
  override readonly retryAfterMs: number | undefined;
  readonly code: FleetErrorCode;
  readonly cluster: string | undefined;
  readonly statusCode: number | undefined;
  readonly reason: string | undefined;
  readonly owner: string | undefined;

  constructor(code: FleetErrorCode, message: string, failure: FleetFailure = {}) {
    const { cluster, statusCode, reason, retryAfterMs, owner, ...options } = failure;
    super(message, options);
    this.code = code;
    this.cluster = cluster;
    this.statusCode = statusCode;
    this.reason = reason === undefined ? undefined : printable(reason, maxFieldBytes);
    this.owner = owner;
    this.retryAfterMs = retryAfterMs;
    this.retryable = !['CLUSTER_NOT_FOUND', 'FLEET_CLOSED', 'SHARDS_DIFFER'].includes(code);
  }
}
