import { printable } from '../util/printable.ts';
import {
  type ApiErrorCode,
  type ClusterOfError,
  CredentialsError,
  maxFieldBytes,
  openingOf,
} from './credentials-error.ts';

/** One of the things that an API server found wrong: a field of the object, or one that another manager owns. */
export interface StatusCause {
  /** Stable: `FieldValueInvalid` or `FieldManagerConflict`, for example. */
  readonly reason?: string;
  readonly message?: string;
  /** For example `.spec.replicas` or `metadata.name`. */
  readonly field?: string;
}

/** The known facts of an API server's answer, without secrets. */
export interface ApiFailure extends ErrorOptions {
  readonly statusCode?: number | undefined;
  readonly reason?: string | undefined;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterMs?: number | undefined;
  /** Its profile and server; `of` also opens the message with them. */
  readonly cluster?: { readonly profile?: string | undefined; readonly server?: string | undefined } | undefined;
}

/** An API server refused a request, or did not answer as it should. */
export class ApiError extends CredentialsError {
  declare readonly name: 'ApiError';
  override readonly retryable: boolean;
  override readonly retryAfterMs: number | undefined;
  declare readonly code: ApiErrorCode;
  /** The HTTP status with `API_STATUS`. */
  readonly statusCode: number | undefined;
  /** The reason in the `Status` of the API server, for example `Forbidden` or `AlreadyExists`. */
  readonly reason: string | undefined;
  /** Of the same `Status`: what is wrong with which field. */
  readonly causes: readonly StatusCause[];

  constructor(code: ApiErrorCode, message: string, failure: ApiFailure = {}) {
    const { statusCode, reason, causes = [], retryAfterMs, cluster, ...options } = failure;
    super('ApiError', code, message, { ...options, cluster });
    this.statusCode = statusCode;
    this.reason = reason === undefined ? undefined : printable(reason, maxFieldBytes);
    this.causes = causes;
    this.retryAfterMs = retryAfterMs;
    this.retryable = statusCode === undefined || statusCode === 429 || statusCode >= 500;
  }

  /** @internal The same, with the name and server of its cluster in the message. */
  of(cluster: ClusterOfError): ApiError {
    const opening = openingOf(cluster);
    if (this.message.startsWith(opening)) return this;
    const { code, message, statusCode, reason, causes, retryAfterMs } = this;
    return new ApiError(code, `${opening}${message}`, { statusCode, reason, causes, retryAfterMs, cluster });
  }

  /** @internal The same, with what to do about it. */
  withAdvice(advice: string): ApiError {
    const { code, message, statusCode, reason, causes, retryAfterMs, profile, server } = this;
    const cluster = { profile, server };
    return new ApiError(code, `${message}: ${advice}`, { statusCode, reason, causes, retryAfterMs, cluster });
  }
}
