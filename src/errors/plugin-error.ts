/** What went wrong in a run of a plugin: seen by its client, and by the plugin itself. */
import {
  type ClusterOfError,
  CredentialsError,
  type ExecInfoErrorCode,
  openingOf,
  type PluginErrorCode,
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
