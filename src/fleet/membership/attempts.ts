/** The attempts to engage a cluster, and the backoff after failed ones. */
import { CredentialsError, type ErrorCode } from '../../errors/index.ts';
import type { Logger } from '../../observability/logger.ts';
import type { WarningLimiter } from '../../observability/warning-limiter.ts';
import { type BackoffLimits, backoffMs } from '../../util/backoff.ts';
import { codeFieldOf } from '../../util/guards.ts';
import type { Clock } from '../clock.ts';
import type { Why } from './status.ts';

const limits: BackoffLimits = { firstMs: 1_000, longestMs: 300_000, jitter: 0.5 };

/** The longest pause after a plugin that could not be started: its file may be repaired at any time, and an attempt costs little. */
const longestWithoutPluginMs = 60_000;
const withoutPlugin: ReadonlySet<ErrorCode> = new Set([
  'PLUGIN_NOT_FOUND',
  'PLUGIN_NOT_EXECUTABLE',
  'PLUGIN_NOT_STARTED',
  'PLUGIN_NOT_ALLOWED',
  'PLUGIN_FILE_UNSAFE',
]);

export interface AttemptsContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly warnings: WarningLimiter;
}

export class Attempts {
  readonly #name: string;
  readonly #context: AttemptsContext;
  #failures = 0;
  #retryAt = 0;
  /** Why the last one failed. */
  #failure: Why | undefined;
  /** Something has changed since the last one began: retry without a pause. */
  #isWorthTrying = false;

  constructor(name: string, context: AttemptsContext) {
    this.#name = name;
    this.#context = context;
  }

  /** Why the last one failed, and the milliseconds until the next; `undefined` if that may begin. */
  get pause(): { readonly failure: Why; readonly ms: number } | undefined {
    const ms = this.#retryAt - this.#context.clock.uptime();
    return this.#failure && ms > 0 ? { failure: this.#failure, ms } : undefined;
  }

  /** One begins. What changed before does not count. */
  begin(): void {
    this.#isWorthTrying = false;
  }

  failed(failure: Why, error: unknown): void {
    const { clock, logger, warnings } = this.#context;
    this.#failures += 1;
    const { code, retryAfterMs = 0 } = error instanceof CredentialsError ? error : {};
    const longestMs = code && withoutPlugin.has(code) ? longestWithoutPluginMs : limits.longestMs;
    const ms = Math.min(longestMs, Math.max(retryAfterMs, backoffMs(this.#failures, { ...limits, longestMs })));
    this.#retryAt = this.#isWorthTrying ? 0 : clock.uptime() + ms;
    const next = this.#isWorthTrying ? 'now' : `in ${Math.ceil(ms / 1_000)} s`;
    const message = `${this.#name} cannot be engaged (${failure.reason}), next try ${next}: ${failure.message}`;
    const fields = { cluster: this.#name, ...codeFieldOf(error) };
    warnings.set({ name: this.#name, fields }, 'engagement', [{ key: failure.reason, message }]);
    if (this.#failure?.reason === failure.reason) logger.debug?.(fields, message);
    this.#failure = failure;
  }

  /** Skips the pause of a failure, also of one that is about to happen. */
  skipPause(): void {
    this.#isWorthTrying = true;
    this.#retryAt = 0;
  }

  /** Earlier failures no longer count. `message` says so, if one was warned about. */
  forget(message?: string): void {
    this.#failures = 0;
    this.#failure = undefined;
    const subject = { name: this.#name, fields: { cluster: this.#name } };
    this.#context.warnings.clear(subject, 'engagement', message);
  }
}
