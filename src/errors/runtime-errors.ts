/** The errors of plugins, requests, connections, API servers and fleets: what goes wrong while a program runs. */
import { printable } from '../util/printable.ts';
import {
  type ApiErrorCode,
  type ClusterOfError,
  type ConnectionErrorCode,
  CredentialsError,
  type ExecInfoErrorCode,
  type FleetErrorCode,
  maxFieldBytes,
  openingOf,
  type PluginErrorCode,
  type RequestErrorCode,
} from './credentials-error.ts';

/** The known facts of a failed run, without secrets. */
export interface PluginFailure {
  readonly provider: string;
  /** Opens the message: `access provider google`. */
  readonly origin: string;
  readonly command: string;
  /** The operator's advice on how to install a missing plugin, on separate lines. */
  readonly installHint?: string | undefined;
  /** The exit code, if the plugin exited by itself. */
  readonly exitCode?: number | undefined;
  /** The signal that ended the plugin, for example `SIGKILL`. */
  readonly signal?: string | undefined;
  /** At most the last 2 KiB of the plugin's stderr, redacted and escaped. */
  readonly stderr?: string | undefined;
}

/** Transient: the next run may succeed. The others need a fix. */
const transientPluginErrors: ReadonlySet<PluginErrorCode> = new Set([
  'PLUGIN_NOT_STARTED',
  'PLUGIN_FAILED',
  'PLUGIN_SIGNALED',
  'PLUGIN_TIMEOUT',
  'ANSWER_EMPTY',
  'ANSWER_NO_CREDENTIAL',
  'SERVICE_ACCOUNT_FAILED',
]);

/** A plugin gave no usable credential. */
export class PluginError extends CredentialsError {
  declare readonly name: 'PluginError';
  override readonly retryable: boolean;
  override readonly retryAfterMs: number | undefined;
  declare readonly code: PluginErrorCode;
  readonly provider: string;
  readonly command: string;
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly stderr: string | undefined;
  /** What went wrong, without the plugin's name. */
  readonly reason: string;
  readonly #failure: PluginFailure;

  constructor(
    code: PluginErrorCode,
    reason: string,
    failure: PluginFailure,
    retryAfterMs?: number,
    cluster?: ClusterOfError,
  ) {
    const { installHint, stderr } = failure;
    super('PluginError', code, `${openingOf(cluster)}${failure.origin}: plugin ${failure.command}: ${reason}`, {
      cluster,
      moreLines: [
        ...(installHint ? installHint.split('\n') : []),
        // Each line is marked as stderr.
        ...(stderr ? stderr.split('\n').map((line) => `stderr: ${line}`) : []),
      ],
    });
    this.reason = reason;
    this.retryable = transientPluginErrors.has(code);
    this.provider = failure.provider;
    this.command = failure.command;
    this.exitCode = failure.exitCode;
    this.signal = failure.signal;
    this.stderr = failure.stderr;
    this.retryAfterMs = retryAfterMs;
    this.#failure = failure;
  }

  /** @internal The same failure for a call during the cooldown. */
  heldBack(retryAfterMs: number): PluginError {
    return new PluginError(this.code, this.reason, this.#failure, retryAfterMs);
  }

  /** @internal The same failure for one of the clusters that wanted the credential. */
  of(cluster: ClusterOfError): PluginError {
    return new PluginError(this.code, this.reason, this.#failure, this.retryAfterMs, cluster);
  }
}

/** The environment of a plugin has no usable `KUBERNETES_EXEC_INFO`. */
export class ExecInfoError extends CredentialsError {
  declare readonly name: 'ExecInfoError';
  declare readonly code: ExecInfoErrorCode;

  constructor(code: ExecInfoErrorCode, message: string) {
    super('ExecInfoError', code, message);
  }
}

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
  /** The causes in the same `Status`: a problem for each field. */
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
    const { code, message, statusCode, reason, causes, retryAfterMs } = this;
    return new ApiError(code, `${message}: ${advice}`, { statusCode, reason, causes, retryAfterMs, cluster: this });
  }
}

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
