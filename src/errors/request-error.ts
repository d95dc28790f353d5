import { type ClusterOfError, openingOf } from './cluster-of-error.ts';
import type { RequestErrorCode } from './codes.ts';
import { CredentialsError } from './credentials-error.ts';

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
