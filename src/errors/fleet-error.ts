import { printable } from '../util/printable.ts';
import { CredentialsError, type FleetErrorCode, maxFieldBytes } from './credentials-error.ts';

/** The known facts of a failure in a fleet, without secrets. */
export interface FleetFailure extends ErrorOptions {
  /** `namespace/name` of the ClusterProfile. */
  readonly cluster?: string | undefined;
  /** Why, as in the states of a cluster: `PROFILE_DELETED`, for example. */
  readonly reason?: string | undefined;
  /** With `CLUSTER_NOT_OWNED`: the identity of the replica that owns the cluster, if known. */
  readonly owner?: string;
}

/** A cluster of a fleet cannot be used. */
export class FleetError extends CredentialsError {
  declare readonly name: 'FleetError';
  override readonly retryable: boolean;
  declare readonly code: FleetErrorCode;
  readonly reason: string | undefined;
  readonly owner: string | undefined;

  constructor(code: FleetErrorCode, message: string, failure: FleetFailure = {}) {
    const { cluster, reason, owner, ...options } = failure;
    super('FleetError', code, message, { ...options, cluster: { profile: cluster } });
    this.reason = reason === undefined ? undefined : printable(reason, maxFieldBytes);
    this.owner = owner;
    this.retryable = !['CLUSTER_NOT_FOUND', 'FLEET_CLOSED'].includes(code);
  }
}
