/**
 * Every error that this package throws or rejects with. Messages are in our own words, name what to mend and hold no
 * secret; a dependency's error is translated where it is caught and never chained when it could hold one.
 */
import { printable } from './printable.ts';

/** Codes of a bad flag, provider file, provider, option or kubeconfig: thrown at construction. */
export type ConfigurationErrorCode =
  | 'FLAG_INVALID'
  | 'PROVIDER_FILE_UNREADABLE'
  | 'PROVIDER_FILE_INVALID'
  | 'PROVIDER_INVALID'
  | 'OPTION_INVALID'
  | 'KUBECONFIG_UNREADABLE'
  | 'KUBECONFIG_INVALID'
  | 'IMAGE_CONFIG_UNREADABLE'
  | 'IMAGE_CONFIG_INVALID';

/** Codes of a ClusterProfile that cannot be served: thrown by `resolve` and `getConfig`. */
export type ProfileErrorCode =
  | 'PROFILE_INVALID'
  | 'PROFILE_TOO_LARGE'
  | 'PROFILE_NOT_ALLOWED'
  | 'NO_MATCHING_PROVIDER'
  | 'CLUSTER_MISSING'
  | 'CLUSTER_INVALID'
  | 'SERVER_INVALID'
  | 'SERVER_INSECURE'
  | 'CA_INVALID'
  | 'PROXY_INVALID'
  | 'EXTENSION_INVALID'
  | 'SERVER_NOT_ALLOWED'
  | 'PROXY_NOT_ALLOWED'
  | 'ARG_INVALID'
  | 'ARG_NOT_ALLOWED'
  | 'ENV_INVALID'
  | 'ENV_NOT_ALLOWED';

/** Codes of a plugin run that gave no usable credential: they reject the request that needed it. */
export type PluginErrorCode =
  | 'PLUGIN_NOT_FOUND'
  | 'PLUGIN_NOT_EXECUTABLE'
  | 'PLUGIN_NOT_STARTED'
  | 'PLUGIN_NOT_ALLOWED'
  | 'PLUGIN_FILE_UNSAFE'
  | 'PLUGIN_INPUT_TOO_LARGE'
  | 'PLUGIN_NO_TERMINAL'
  | 'PLUGIN_FAILED'
  | 'PLUGIN_SIGNALED'
  | 'PLUGIN_TIMEOUT'
  | 'PLUGIN_STOPPED'
  | 'ANSWER_EMPTY'
  | 'ANSWER_TOO_LARGE'
  | 'ANSWER_UNPARSABLE'
  | 'ANSWER_WRONG_VERSION'
  | 'ANSWER_WRONG_KIND'
  | 'ANSWER_FIELD_INVALID'
  | 'ANSWER_NO_STATUS'
  | 'ANSWER_NO_CREDENTIAL'
  | 'ANSWER_HALF_PAIR'
  | 'ANSWER_KEY_MISMATCH'
  | 'ANSWER_CERTIFICATE_REFUSED'
  | 'ANSWER_TOKEN_ECHOED'
  | 'SERVICE_ACCOUNT_FAILED';

/** Codes of a request that was refused before it left, or could not be carried. */
export type RequestErrorCode =
  | 'FOREIGN_ORIGIN'
  | 'PATH_NOT_ALLOWED'
  | 'FOREIGN_HANDLER'
  | 'REQUEST_INVALID'
  | 'RESPONSE_TOO_LARGE'
  | 'RESPONSE_INVALID'
  | 'UPGRADE_REFUSED'
  | 'CONFIG_CLOSED'
  | 'PROVIDER_CHANGED'
  | 'CONFIG_IMMUTABLE'
  | 'REQUEST_ABORTED'
  | 'PROXY_INVALID'
  | 'PROXY_FAILED'
  | 'PROXY_AUTH_REQUIRED'
  | 'PROXY_TIMEOUT';

/** Codes of a connection to a cluster that could not be made, or broke. */
export type ConnectionErrorCode =
  | 'HOST_NOT_FOUND'
  | 'CONNECT_FAILED'
  | 'CONNECT_TIMEOUT'
  | 'TLS_UNTRUSTED'
  | 'TLS_NAME_MISMATCH'
  | 'TLS_EXPIRED'
  | 'TLS_FAILED'
  | 'CONNECTION_LOST'
  | 'RESPONSE_TIMEOUT';

/** Codes of the plugin-side helpers. */
export type ExecInfoErrorCode = 'EXEC_INFO_MISSING' | 'EXEC_INFO_INVALID';

/** Codes of what is wrong with an image's name. */
export type ImageErrorCode = 'IMAGE_INVALID';

/** Codes of the fleet: of a cluster that cannot be used, of an API server's answer, and of a controller author's functions. */
export type FleetErrorCode =
  | 'CLUSTER_NOT_FOUND'
  | 'CLUSTER_NOT_READY'
  | 'CLUSTER_NOT_OWNED'
  | 'CLUSTER_DISENGAGED'
  | 'FLEET_CLOSED'
  | 'TIMEOUT'
  | 'API_STATUS'
  | 'API_TIMEOUT'
  | 'API_RESPONSE_INVALID'
  | 'KIND_NOT_SERVED';

/** Every `code` of every error class here. */
export type ErrorCode =
  | ConfigurationErrorCode
  | ProfileErrorCode
  | PluginErrorCode
  | RequestErrorCode
  | ConnectionErrorCode
  | ExecInfoErrorCode
  | FleetErrorCode
  | ImageErrorCode;

/** The longest line of a message, and the longest field of an error, in bytes. */
const maxMessageBytes = 4 * 1024;
const maxFieldBytes = 1024;

const brand = Symbol.for('clusterprofile-credentials.error');

/** Base of every error of this package; `instanceof` also knows those of a second copy of the package. */
export abstract class CredentialsError extends Error {
  /** Stable across releases; compare this, never the message. */
  abstract readonly code: ErrorCode;
  /** True where the same call may succeed later with nothing mended. */
  readonly retryable: boolean = false;
  /** Milliseconds until a retry can make a difference, where that is known. */
  readonly retryAfterMs: number | undefined = undefined;

  /**
   * Profiles, servers and plugins have their words in messages, and none may forge a line of a log, or fill one. So a message is
   * one line, and only `moreLines` begin another.
   */
  constructor(message: string, { moreLines = [], ...options }: ErrorOptions & { moreLines?: readonly string[] } = {}) {
    super([message, ...moreLines].map((line) => printable(line, maxMessageBytes)).join('\n'), options);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (typeof value !== 'object' || value === null) return false;
    const brands: unknown = Reflect.get(value, brand);
    return Array.isArray(brands) && brands.includes(classNames.get(this) ?? this.name);
  }

  get [brand](): readonly string[] {
    const names: string[] = [];
    for (
      let type = this.constructor;
      type !== Error && type !== Function.prototype;
      type = Object.getPrototypeOf(type)
    ) {
      names.push(classNames.get(type) ?? type.name);
    }
    return names;
  }
}

/** One thing to mend in the operator's configuration. */
export interface Problem {
  /** Where: a field path (`providers[1].execConfig.command`), or the flag as it was given. */
  readonly path: string;
  /** What is wrong and what to write instead. */
  readonly message: string;
  /** The file, where several were read together. */
  readonly file?: string;
  /** Line in the file, counted from 1. */
  readonly line?: number;
}

/** What the operator or the program configured cannot be used. Reports every problem, not only the first. */
export class ConfigurationError extends CredentialsError {
  override readonly name = 'ConfigurationError';
  readonly code: ConfigurationErrorCode;
  readonly problems: readonly Problem[];

  /** `where` opens the message: a file's path, or what was being read. */
  constructor(code: ConfigurationErrorCode, where: string, problems: readonly Problem[]) {
    const lines = problems.map(({ path, file, line, message }) => {
      const at = `${file === undefined ? '' : `${file}: `}${line === undefined ? '' : `line ${line}: `}`;
      return `${at}${path === '' ? '' : `${path}: `}${message}`;
    });
    const isOne = lines.length === 1;
    super(`${where}: ${isOne ? lines[0] : `${lines.length} problems:`}`, {
      moreLines: isOne ? [] : lines.map((line) => `  ${line}`),
    });
    this.code = code;
    this.problems = problems;
  }
}

/** A ClusterProfile cannot be served with the configured providers. */
export class ProfileError extends CredentialsError {
  override readonly name = 'ProfileError';
  readonly code: ProfileErrorCode;
  /** `namespace/name` of the ClusterProfile. */
  readonly profile: string;
  /** Field of the ClusterProfile, for example `status.accessProviders[0].cluster.server`. */
  readonly path: string;
  /** The access type that was chosen, where it came to that. */
  readonly provider: string | undefined;

  constructor(code: ProfileErrorCode, profile: string, path: string, message: string, provider?: string) {
    super(`ClusterProfile ${profile}: ${path === '' ? '' : `${path}: `}${message}`);
    this.code = code;
    this.profile = printable(profile, maxFieldBytes);
    this.path = printable(path, maxFieldBytes);
    this.provider = provider;
  }
}

/** What is known of a failed run, none of it secret. */
export interface PluginFailure {
  readonly provider: string;
  /** Opens the message: `access provider google`. */
  readonly origin: string;
  readonly command: string;
  /** How to install the plugin, where it is missing: the operator's words, in lines of their own. */
  readonly installHint?: string | undefined;
  /** Exit code, where the plugin ended by itself. */
  readonly exitCode?: number | undefined;
  /** Signal that ended the plugin, for example `SIGKILL`. */
  readonly signal?: string | undefined;
  /** At most the last 2 KiB of the plugin's stderr, redacted and escaped. */
  readonly stderr?: string | undefined;
}

/** The cluster that an error belongs to. */
export interface ClusterOfError {
  /** Opens the message: `ClusterProfile fleet/spoke-1`, or `kubeconfig context staging`. */
  readonly name: string;
  /** `namespace/name` of the ClusterProfile, where there is one. */
  readonly profile?: string | undefined;
  readonly server: string;
}

/** What the same plugin may answer better the next time. The others want something mended. */
const passingPluginErrors: ReadonlySet<PluginErrorCode> = new Set([
  'PLUGIN_NOT_STARTED',
  'PLUGIN_FAILED',
  'PLUGIN_SIGNALED',
  'PLUGIN_TIMEOUT',
  'ANSWER_EMPTY',
  'ANSWER_NO_STATUS',
  'ANSWER_NO_CREDENTIAL',
  'SERVICE_ACCOUNT_FAILED',
]);

/** A plugin gave no usable credential. */
export class PluginError extends CredentialsError {
  override readonly name = 'PluginError';
  override readonly retryable: boolean;
  override readonly retryAfterMs: number | undefined;
  readonly code: PluginErrorCode;
  readonly provider: string;
  readonly command: string;
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly stderr: string | undefined;
  /** What went wrong, without the plugin's name in front. */
  readonly reason: string;
  /** `namespace/name` of the ClusterProfile whose request needed the credential, where that is known. */
  readonly profile: string | undefined;
  readonly server: string | undefined;
  readonly #failure: PluginFailure;

  constructor(
    code: PluginErrorCode,
    reason: string,
    failure: PluginFailure,
    retryAfterMs?: number,
    cluster?: ClusterOfError,
  ) {
    const { installHint, stderr } = failure;
    const where = cluster ? `${cluster.name}, ${cluster.server}: ` : '';
    super(`${where}${failure.origin}: plugin ${failure.command}: ${reason}`, {
      moreLines: [
        ...(installHint ? installHint.split('\n') : []),
        // Each line says whose it is.
        ...(stderr ? stderr.split('\n').map((line) => `stderr: ${line}`) : []),
      ],
    });
    this.code = code;
    this.reason = reason;
    this.retryable = passingPluginErrors.has(code);
    this.provider = failure.provider;
    this.command = failure.command;
    this.exitCode = failure.exitCode;
    this.signal = failure.signal;
    this.stderr = failure.stderr;
    this.profile = cluster?.profile;
    this.server = cluster?.server;
    this.retryAfterMs = retryAfterMs;
    this.#failure = failure;
  }

  /** The same failure for a caller who comes while the plugin is held back. */
  heldBack(retryAfterMs: number): PluginError {
    return new PluginError(this.code, this.reason, this.#failure, retryAfterMs);
  }

  /** The same failure for one of the clusters that wanted the credential. */
  of(cluster: ClusterOfError): PluginError {
    return new PluginError(this.code, this.reason, this.#failure, this.retryAfterMs, cluster);
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
  override readonly name = 'ConnectionError';
  override readonly retryable: boolean;
  readonly code: ConnectionErrorCode;
  /** `namespace/name` of the ClusterProfile, where there is one. */
  readonly profile: string | undefined;
  readonly server: string;

  constructor(code: ConnectionErrorCode, cluster: ClusterOfError, message: string, options?: ErrorOptions) {
    super(`${cluster.name}, ${cluster.server}: ${message}`, options);
    this.code = code;
    this.retryable = passingConnectionErrors.has(code);
    this.profile = cluster.profile;
    this.server = cluster.server;
  }
}

/** A request was refused by this package, not by the server. */
export class RequestError extends CredentialsError {
  override readonly name = 'RequestError';
  override readonly retryable: boolean;
  readonly code: RequestErrorCode;
  /** `namespace/name` of the ClusterProfile that the request was for, where that is known. */
  readonly profile: string | undefined;
  readonly server: string | undefined;

  /** Where a server answered: its status. */
  readonly statusCode: number | undefined;

  constructor(
    code: RequestErrorCode,
    message: string,
    { statusCode, ...options }: ErrorOptions & { readonly statusCode?: number | undefined } = {},
    cluster?: ClusterOfError,
  ) {
    const where = cluster ? `${cluster.name}, ${cluster.server}: ` : '';
    super(printable(`${where}${message}`, maxMessageBytes), options);
    this.code = code;
    this.profile = cluster?.profile;
    this.server = cluster?.server;
    this.statusCode = statusCode;
    const passes = statusCode !== undefined && (statusCode === 429 || statusCode >= 500);
    this.retryable = passes || code === 'PROXY_FAILED' || code === 'PROXY_TIMEOUT';
  }

  /** The same, of one of the clusters. */
  of(cluster: ClusterOfError): RequestError {
    if (this.server !== undefined) return this;
    const { code, message, cause, statusCode } = this;
    return new RequestError(code, message, { ...(cause === undefined ? {} : { cause }), statusCode }, cluster);
  }
}

/** The environment of a plugin does not hold a usable `KUBERNETES_EXEC_INFO`. */
export class ExecInfoError extends CredentialsError {
  override readonly name = 'ExecInfoError';
  readonly code: ExecInfoErrorCode;

  constructor(code: ExecInfoErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The most of an image's name that a message shows, in bytes: the longest name has 255, with a tag and a digest some 450. */
const longestShownImage = 512;

/** The name of an image cannot be used. */
export class ImageError extends CredentialsError {
  override readonly name = 'ImageError';
  readonly code: ImageErrorCode = 'IMAGE_INVALID';
  /** As it was given, but without the user and password of a URL. */
  readonly image: string;

  constructor(image: string, message: string) {
    const shown = withoutUser(String(image));
    super(`image "${printable(shown, longestShownImage)}": ${message}`);
    this.image = shown;
  }
}

/** `https://user:password@host` and `user:password@host`; `app:1@sha256:...` has a tag and a digest. */
function withoutUser(image: string): string {
  return image
    .replace(/^([a-z][a-z0-9+.-]*:\/\/).*@/is, '$1[redacted]@')
    .replace(/^(?!\w+:\/\/)[^/]*:[^/]*@(?![a-z0-9+._-]+:[0-9a-f]+$)/is, '[redacted]@');
}

/** What is known of a failure in a fleet, none of it secret. */
export interface FleetFailure extends ErrorOptions {
  /** `namespace/name` of the ClusterProfile. */
  readonly cluster?: string;
  /** Where an API server refused: its status. */
  readonly statusCode?: number;
  /** Where an API server refused: the reason in its `Status`, for example `Forbidden`. */
  readonly reason?: string;
  readonly retryAfterMs?: number;
}

/** A cluster of a fleet cannot be used, or its API server did not answer as it should. */
export class FleetError extends CredentialsError {
  override readonly name = 'FleetError';
  override readonly retryable: boolean;
  override readonly retryAfterMs: number | undefined;
  readonly code: FleetErrorCode;
  readonly cluster: string | undefined;
  readonly statusCode: number | undefined;
  readonly reason: string | undefined;

  constructor(code: FleetErrorCode, message: string, failure: FleetFailure = {}) {
    const { cluster, statusCode, reason, retryAfterMs, ...options } = failure;
    super(message, options);
    this.code = code;
    this.cluster = cluster;
    this.statusCode = statusCode;
    this.reason = reason === undefined ? undefined : printable(reason, maxFieldBytes);
    this.retryAfterMs = retryAfterMs;
    this.retryable = code !== 'CLUSTER_NOT_FOUND' && code !== 'FLEET_CLOSED';
  }
}

/** Class names that survive a minifier. */
const classNames = new Map<unknown, string>([
  [CredentialsError, 'CredentialsError'],
  [ConfigurationError, 'ConfigurationError'],
  [ProfileError, 'ProfileError'],
  [PluginError, 'PluginError'],
  [RequestError, 'RequestError'],
  [ConnectionError, 'ConnectionError'],
  [ExecInfoError, 'ExecInfoError'],
  [FleetError, 'FleetError'],
  [ImageError, 'ImageError'],
]);
