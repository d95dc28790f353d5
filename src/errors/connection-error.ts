import { type ClusterOfError, openingOf } from './cluster-of-error.ts';
import type { ConnectionErrorCode } from './codes.ts';
import { CredentialsError } from './credentials-error.ts';

const passingConnectionErrors: ReadonlySet<ConnectionErrorCode> = new Set([
  'HOST_NOT_FOUND',
  'CONNECT_FAILED',
  'CONNECT_TIMEOUT',
  'CONNECTION_LOST',
  'RESPONSE_TIMEOUT',
]);

/** There was no connection to the cluster's server, or it broke. `cause` has Node's own error. */
export class ConnectionError extends CredentialsError {
  declare readonly name: 'ConnectionError';
  override readonly retryable: boolean;
  declare readonly code: ConnectionErrorCode;
  declare readonly server: string;

  constructor(code: ConnectionErrorCode, cluster: ClusterOfError, message: string, options?: ErrorOptions) {
    super('ConnectionError', code, `${openingOf(cluster)}${message}`, { ...options, cluster });
    this.retryable = passingConnectionErrors.has(code);
  }
}
