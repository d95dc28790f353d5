import { printable } from '../util/printable.ts';
import type { ErrorCode } from './codes.ts';

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
