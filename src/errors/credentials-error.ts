/** The base of every error of this package, the codes, and the cluster that an error belongs to. */
import { printable } from '../util/printable.ts';

/** The longest line of a message, and the longest field of an error, in bytes. */
const maxMessageBytes = 4 * 1024;
export const maxFieldBytes = 1024;

interface CredentialsErrorOptions extends ErrorOptions {
  readonly moreLines?: readonly string[];
  readonly cluster?: { readonly profile?: string | undefined; readonly server?: string | undefined } | undefined;
}

/** Base of every error of this package. */
export abstract class CredentialsError extends Error {
  /** The name of the class, also in minified code. */
  override readonly name: string;
  /** Stable across releases; compare this, never the message. `String(error)` and the stack show it: `PluginError [PLUGIN_TIMEOUT]: ...`. */
  readonly code: ErrorCode;
  /** Transient: the same call may succeed later without any change. */
  readonly retryable: boolean = false;
  /**
   * Milliseconds for which the same call fails in the same way, if known. Errors that are not `retryable` may have it too: a plugin
   * that has been installed is found after that time.
   */
  readonly retryAfterMs: number | undefined = undefined;
  /** `namespace/name` of the ClusterProfile, for an error of one cluster. */
  declare readonly profile: string | undefined;
  /** The URL of the cluster's API server, if known. */
  declare readonly server: string | undefined;

  /**
   * Messages quote profiles, servers and plugins, which must not forge or flood log lines. So a message is one line, and only
   * `moreLines` add further ones.
   */
  constructor(
    name: string,
    code: ErrorCode,
    message: string,
    { moreLines = [], cluster, ...options }: CredentialsErrorOptions = {},
  ) {
    // A plugin's stderr may have tabs: they only move the cursor on.
    const more = moreLines.map((line) =>
      line
        .split('\t')
        .map((part) => printable(part, maxMessageBytes))
        .join('\t'),
    );
    super([printable(message, maxMessageBytes), ...more].join('\n'), options);
    this.code = code;
    if (cluster) {
      this.profile = cluster.profile;
      this.server = cluster.server;
    }
    // V8 copies the name into the stack at its first read. Node's own errors show their code there in the same way.
    this.name = `${name} [${code}]`;
    Reflect.get(this, 'stack');
    this.name = name;
  }

  /** In the form of Node's own errors. */
  override toString(): string {
    return `${this.name} [${this.code}]: ${this.message}`;
  }
}

/** Codes of a bad flag, provider file, provider, option or kubeconfig: thrown at construction. */
export type ConfigurationErrorCode =
  | 'FLAG_INVALID'
  | 'PROVIDER_FILE_INVALID'
  | 'PROVIDER_INVALID'
  | 'OPTION_INVALID'
  | 'KUBECONFIG_INVALID'
  | 'IMAGE_CONFIG_INVALID';

/** Codes of a ClusterProfile that cannot be served: thrown by `resolve` and `getConfig`. */
export type ProfileErrorCode =
  | 'PROFILE_INVALID'
  | 'PROFILE_TOO_LARGE'
  | 'PROFILE_NOT_ALLOWED'
  | 'NO_MATCHING_PROVIDER'
  | 'CLUSTER_INVALID'
  | 'SERVER_INVALID'
  | 'SERVER_INSECURE'
  | 'CA_INVALID'
  | 'PROXY_INVALID'
  | 'EXTENSION_INVALID'
  | 'SERVER_NOT_ALLOWED'
  | 'PROXY_NOT_ALLOWED'
  | 'ARG_NOT_ALLOWED'
  | 'ENV_NOT_ALLOWED';

/** Codes of a plugin run without a usable credential: the request that needed it rejects with one. */
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
  | 'ANSWER_FIELD_INVALID'
  | 'ANSWER_NO_CREDENTIAL'
  | 'ANSWER_HALF_PAIR'
  | 'ANSWER_KEY_MISMATCH'
  | 'ANSWER_CERTIFICATE_REFUSED'
  | 'ANSWER_TOKEN_ECHOED'
  | 'SERVICE_ACCOUNT_FAILED';

/** Codes of a request that was refused before it was sent, or could not be sent. */
export type RequestErrorCode =
  | 'FOREIGN_ORIGIN'
  | 'PATH_NOT_ALLOWED'
  | 'PREVIEW_REFUSED'
  | 'FOREIGN_HANDLER'
  | 'REQUEST_INVALID'
  | 'RESPONSE_TOO_LARGE'
  | 'RESPONSE_INVALID'
  | 'UPGRADE_REFUSED'
  | 'CONFIG_CLOSED'
  | 'PROVIDER_CHANGED'
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

/** Codes for invalid image names. */
export type ImageErrorCode = 'IMAGE_INVALID';

/** Codes of an API server's answer. */
export type ApiErrorCode = 'API_STATUS' | 'API_TIMEOUT' | 'API_RESPONSE_INVALID' | 'KIND_NOT_SERVED';

/** Codes of the fleet: of a cluster that cannot be used, and of a controller author's functions. */
export type FleetErrorCode =
  | 'CLUSTER_NOT_FOUND'
  | 'CLUSTER_NOT_READY'
  | 'CLUSTER_NOT_OWNED'
  | 'CLUSTER_DISENGAGED'
  | 'FLEET_CLOSED'
  | 'LEASE_LOST'
  | 'TIMEOUT'
  | 'LIST_TOO_LARGE';

/** Every `code` of every error class here. */
export type ErrorCode =
  | ConfigurationErrorCode
  | ProfileErrorCode
  | PluginErrorCode
  | RequestErrorCode
  | ConnectionErrorCode
  | ApiErrorCode
  | ExecInfoErrorCode
  | FleetErrorCode
  | ImageErrorCode;

/** The cluster that an error belongs to. */
export interface ClusterOfError {
  /** Opens the message: `ClusterProfile fleet/spoke-1`, or `kubeconfig context staging`. */
  readonly name: string;
  /** `namespace/name` of the ClusterProfile, if any. */
  readonly profile?: string | undefined;
  readonly server: string;
}

/** Opens the message of an error that belongs to a cluster. */
export const openingOf = (cluster: ClusterOfError | undefined): string =>
  cluster ? `${cluster.name}, ${cluster.server}: ` : '';
