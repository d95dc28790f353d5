import { printable } from '../util/printable.ts';
import { type ClusterOfError, openingOf } from './cluster-of-error.ts';
import type { FleetErrorCode } from './codes.ts';
import { CredentialsError, maxFieldBytes } from './credentials-error.ts';

/** One of the things that an API server found wrong: a field of the object, or one that another manager owns. */
export interface StatusCause {
  /** Stable: `FieldValueInvalid` or `FieldManagerConflict`, for example. */
  readonly reason?: string;
  readonly message?: string;
  /** For example `.spec.replicas` or `metadata.name`. */
  readonly field?: string;
}

/** The known facts of a failure in a fleet, without secrets. */
export interface FleetFailure extends ErrorOptions {
  /** `namespace/name` of the ClusterProfile. */
  readonly cluster?: string | undefined;
  /** The HTTP status with which an API server refused. */
  readonly statusCode?: number | undefined;
  /** The reason in the `Status` of an API server that refused, for example `Forbidden`. */
  readonly reason?: string | undefined;
  /** Of the same `Status`: what is wrong with which field. */
  readonly causes?: readonly StatusCause[];
  readonly retryAfterMs?: number | undefined;
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
  readonly causes: readonly StatusCause[];
  readonly owner: string | undefined;

  constructor(code: FleetErrorCode, message: string, failure: FleetFailure = {}) {
    const { cluster, statusCode, reason, causes = [], retryAfterMs, owner, ...options } = failure;
    super('FleetError', code, message, options);
    this.cluster = cluster;
    this.statusCode = statusCode;
    this.reason = reason === undefined ? undefined : printable(reason, maxFieldBytes);
    this.causes = causes;
    this.owner = owner;
    this.retryAfterMs = retryAfterMs;
    const isLasting = statusCode !== undefined && statusCode !== 429 && statusCode < 500;
    this.retryable = !isLasting && !['CLUSTER_NOT_FOUND', 'FLEET_CLOSED'].includes(code);
  }

  /** @internal The same, of one of the clusters. */
  of(cluster: ClusterOfError): FleetError {
    if (this.cluster !== undefined) return this;
    const { code, message, statusCode, reason, causes, retryAfterMs } = this;
    const facts = { cluster: cluster.profile, statusCode, reason, causes, retryAfterMs };
    return new FleetError(code, `${openingOf(cluster)}${message}`, facts);
  }
}
