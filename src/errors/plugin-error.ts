import { type ClusterOfError, openingOf } from './cluster-of-error.ts';
import type { PluginErrorCode } from './codes.ts';
import { CredentialsError, setClassName } from './credentials-error.ts';

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
  static {
    setClassName(this, 'PluginError');
  }

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
    super(`${openingOf(cluster)}${failure.origin}: plugin ${failure.command}: ${reason}`, {
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
