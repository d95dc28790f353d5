/**
 * The base of every error of this package, the codes, and the errors of what this package was given: the configuration, a ClusterProfile,
 * the name of an image.
 */
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

  /** Messages quote profiles, servers and plugins, which must not forge or flood log lines: only `moreLines` add to the first line. */
  constructor(
    name: string,
    code: ErrorCode,
    message: string,
    { moreLines = [], cluster, ...options }: CredentialsErrorOptions = {},
  ) {
    // A plugin's stderr may have tabs: they only move the cursor on.
    const more = moreLines.map((line) => line.replace(/[^\t]+/g, (part) => printable(part, maxMessageBytes)));
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

/** One problem in the operator's configuration. */
export interface Problem {
  /** A field path (`providers[1].execConfig.command`), or the flag as it was given. */
  readonly path: string;
  /** What is wrong and what to write instead. */
  readonly message: string;
  /** The file, if several were read together. */
  readonly file?: string;
  /** Line in the file, counted from 1. */
  readonly line?: number;
  /** Column in that line, counted from 1. */
  readonly column?: number;
}

/** The configuration cannot be used. Reports every problem, not only the first. */
export class ConfigurationError extends CredentialsError {
  declare readonly name: 'ConfigurationError';
  declare readonly code: ConfigurationErrorCode;
  readonly problems: readonly Problem[];

  /** `where` opens the message: a file's path, or what was being read. */
  constructor(code: ConfigurationErrorCode, where: string, problems: readonly Problem[]) {
    const lines = problems.map(({ path, file, line, message }) => {
      const at = `${file === undefined ? '' : `${file}: `}${line === undefined ? '' : `line ${line}: `}`;
      return `${at}${path === '' ? '' : `${path}: `}${message}`;
    });
    const isOne = lines.length === 1;
    super('ConfigurationError', code, `${where}: ${isOne ? lines[0] : `${lines.length} problems:`}`, {
      moreLines: isOne ? [] : lines.map((line) => `  ${line}`),
    });
    this.problems = problems;
  }
}

/** A ClusterProfile cannot be served with the configured providers. */
export class ProfileError extends CredentialsError {
  declare readonly name: 'ProfileError';
  declare readonly code: ProfileErrorCode;
  declare readonly profile: string;
  /** The field of the ClusterProfile, for example `status.accessProviders[0].cluster.server`. */
  readonly path: string;
  /** The access type, if one was chosen. */
  readonly provider: string | undefined;

  constructor(code: ProfileErrorCode, profile: string, path: string, message: string, provider?: string) {
    super('ProfileError', code, `ClusterProfile ${profile}: ${path === '' ? '' : `${path}: `}${message}`, {
      cluster: { profile: printable(profile, maxFieldBytes) },
    });
    this.path = printable(path, maxFieldBytes);
    this.provider = provider;
  }
}

/** The most of an image's name that a message shows, in bytes: the longest name has 255, with a tag and a digest some 450. */
const longestShownImage = 512;
/** The most that is looked at: anybody may name an image. */
const longestImage = 4_096;

/** The name of an image cannot be used. */
export class ImageError extends CredentialsError {
  declare readonly name: 'ImageError';
  declare readonly code: ImageErrorCode;
  /** The name as given, without the user and password of a URL. */
  readonly image: string;

  constructor(image: string, message: string) {
    const shown = withoutUser(String(image).slice(0, longestImage));
    super('ImageError', 'IMAGE_INVALID', `image "${printable(shown, longestShownImage)}": ${message}`);
    this.image = shown;
  }
}

/** `https://user:password@host` and `user:password@host`; `app:1@sha256:...` has a tag and a digest. */
function withoutUser(image: string): string {
  return image
    .replace(/^([a-z][a-z0-9+.-]*:\/\/).*@/is, '$1[redacted]@')
    .replace(/^(?!\w+:\/\/)[^/]*:[^/]*@(?![a-z0-9+._-]+:[0-9a-f]+$)/is, '[redacted]@');
}
