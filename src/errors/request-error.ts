/** A request that was refused before it was sent, or whose connection failed. */
import {
  type ClusterOfError,
  type ConnectionErrorCode,
  CredentialsError,
  openingOf,
  type RequestErrorCode,
} from './credentials-error.ts';

/** This package, not the server, refused a request. */
export class RequestError extends CredentialsError {
  declare readonly name: 'RequestError';
  override readonly retryable: boolean;
  declare readonly code: RequestErrorCode;
  /** The HTTP status, if a server answered. */
  readonly statusCode: number | undefined;

  constructor(
    code: RequestErrorCode,
    message: string,
    { statusCode, ...options }: ErrorOptions & { readonly statusCode?: number | undefined } = {},
    cluster?: ClusterOfError,
  ) {
    super('RequestError', code, `${openingOf(cluster)}${message}`, { ...options, cluster });
    this.statusCode = statusCode;
    const passes = statusCode !== undefined && (statusCode === 429 || statusCode >= 500);
    this.retryable = passes || code === 'PROXY_FAILED' || code === 'PROXY_TIMEOUT';
  }

  /** @internal The same, of one of the clusters. */
  of(cluster: ClusterOfError): RequestError {
    if (this.server !== undefined) return this;
    const { code, message, cause, statusCode } = this;
    return new RequestError(code, message, { ...(cause === undefined ? {} : { cause }), statusCode }, cluster);
  }
}

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
