/**
 * Runs a plugin for one distinct plugin input; caches, refreshes and shares the credential. A PluginCall comes in, Credentials go
 * out. It must not know what a request or a connection is.
 */

import { PluginError } from '../errors/index.ts';
import type { CachedCredential } from '../observability/metrics.ts';
import { emit, type RunReason } from '../observability/telemetry.ts';
import { backoffMs, Cooldown, LeakyBucket } from '../util/backoff.ts';
import { type Credential, secretsWith } from './credential.ts';
import type { Asker, CredentialSource, Rejections, SourceWarning } from './credential-source.ts';
import type { ExecResponse } from './exec-credential.ts';
import { describeCredential, runPlugin } from './plugin.ts';
import type { PluginCall, PluginOptions } from './plugin-call.ts';
import type { RunHistory } from './run-limit.ts';

export interface SourceOptions extends PluginOptions {
  /** The time, in milliseconds since 1970. */
  readonly clock: () => number;
}

/** Refreshes after 401s that one credential may have at once; then it may have one a second, however many connections ask. */
const mostAfterRejections = 10;

/** A credential is in use for this many milliseconds after it was last requested. */
const inUseMs = 900_000;

export class ExecCredentialSource implements CredentialSource {
  readonly #call: PluginCall;
  readonly #options: SourceOptions;
  #current: Credential | undefined;
  /** When the credential was last asked for. */
  #askedAt = Number.NEGATIVE_INFINITY;
  /** Of the last credentials, invalidated ones included: a failing plugin may print them. */
  #secrets: readonly string[] = [];
  /** When a refresh starts in the background, while requests still use the current credential. */
  #refreshAt = Number.POSITIVE_INFINITY;
  #running: Promise<Credential> | undefined;
  #failure: PluginError | undefined;
  #failures = 0;
  /** After a failure, and after a credential that had already expired: such a credential is used during its cooldown. */
  readonly #cooldown = new Cooldown();
  readonly #afterRejections = new LeakyBucket(1_000);
  readonly #history: RunHistory = {};
  #clockWarning: SourceWarning | undefined;
  #refreshWarning: SourceWarning | undefined;

  constructor(call: PluginCall, options: SourceOptions) {
    this.#call = call;
    this.#options = options;
  }

  get warnings(): readonly SourceWarning[] {
    return [this.#refreshWarning, this.#clockWarning].filter((warning) => warning !== undefined);
  }

  get secrets(): readonly string[] {
    return this.#secrets;
  }

  get state(): string {
    if (this.#current && this.#isUsable(this.#current, this.#options.clock())) return describeCredential(this.#current);
    if (this.#running) return 'the plugin runs';
    if (this.#failure) return `no credential: ${this.#failure.code}`;
    return this.#current ? 'the credential has expired' : 'no credential yet';
  }

  /** Returns the credential if there is one, else the run that all current callers share. */
  get(asker?: Asker): Credential | Promise<Credential> {
    const now = this.#options.clock();
    this.#askedAt = now;
    const current = this.#current;
    if (current && this.#isUsable(current, now)) {
      if (now >= this.#refreshAt) this.#refreshInBackground(now, asker);
      return current;
    }
    if (this.#running) return this.#running;
    const left = this.#cooldown.left(now);
    if (this.#failure && left > 0) return Promise.reject(this.#failure.heldBack(left));
    return this.#run(current ? 'expired' : 'first', asker);
  }

  /** Rejections are counted per connection, so that one broken cluster never blocks the others that share this credential. */
  async afterRejection(
    rejected: Credential,
    rejections: Rejections,
    response?: ExecResponse,
    asker?: Asker,
  ): Promise<Credential | undefined> {
    if (this.#current && this.#current !== rejected) return this.#current;
    try {
      if (this.#running) return await this.#running;
      const now = this.#options.clock();
      const tooMany = this.#afterRejections.level(now) > mostAfterRejections - 1;
      if (tooMany || rejections.isCoolingDown(now) || this.#cooldown.left(now) > 0) return undefined;
      rejections.add(now);
      this.#afterRejections.add(now, mostAfterRejections);
      return await this.#run('rejected', asker, response);
    } catch (error) {
      // The caller gets the server's own 401, so only the log has the reason.
      this.#refreshFailed("a refresh after a 401 failed, so the caller gets the server's 401", error, asker);
      return undefined;
    }
  }

  /** The next request runs the plugin, also during a cooldown. */
  invalidate(): void {
    this.#current = undefined;
    this.#running = undefined;
    this.#failure = undefined;
    this.#cooldown.clear();
  }

  #isUsable(credential: Credential, now: number): boolean {
    if (credential.expiresAt === undefined || now <= credential.expiresAt) return true;
    return this.#failure === undefined && this.#cooldown.left(now) > 0;
  }

  #refreshInBackground(now: number, asker: Asker | undefined): void {
    if (this.#running || this.#cooldown.left(now) > 0) return;
    this.#run('ahead', asker).catch((error: unknown) =>
      this.#refreshFailed('a refresh ahead of expiry failed, and the old credential stays in use', error, asker),
    );
  }

  #run(reason: RunReason, asker: Asker | undefined, response?: ExecResponse): Promise<Credential> {
    const previous = {
      reason,
      response,
      secrets: this.#secrets,
      history: this.#history,
      cluster: asker?.cluster,
    };
    // The result of a run that `invalidate()` has overtaken is not cached.
    const isCurrent = () => this.#running === running;
    const running = runPlugin(this.#call, this.#options, previous).then(
      (credential) => {
        this.#secrets = secretsWith(credential, this.#secrets);
        if (isCurrent()) this.#take(credential);
        return credential;
      },
      (error: unknown) => {
        throw isCurrent() ? this.#fail(error) : error;
      },
    );
    // Avoids an unhandled rejection of a run whose callers have all gone.
    running.catch(() => undefined);
    this.#running = running;
    return running;
  }

  #take(credential: Credential): void {
    const now = this.#options.clock();
    const before = this.#current;
    this.#running = undefined;
    this.#current = credential;
    this.#failure = undefined;
    this.#refreshWarning = undefined;
    this.#clockWarning = undefined;
    this.#cooldown.clear();
    const { expiresAt } = credential;
    if (expiresAt !== undefined && expiresAt <= now) {
      this.#useExpired(now, expiresAt);
    } else {
      this.#failures = 0;
      this.#refreshAt = refreshTime(now, expiresAt);
    }
    this.#report(before, credential);
  }

  /** Most likely a clock is wrong: uses the credential, but does not run the plugin for every request. */
  #useExpired(now: number, expiredAt: number): void {
    this.#failures += 1;
    const ms = backoffMs(this.#failures);
    this.#cooldown.set(now, ms);
    this.#refreshAt = Number.POSITIVE_INFINITY;
    const what = `a credential that expired ${Math.round((now - expiredAt) / 1000)} s ago`;
    const message =
      `${this.#call.origin}: plugin ${this.#call.exec.command} returned ${what}; it is used all the same. ` +
      'Check the clocks of this machine and of the issuer.';
    this.#clockWarning = { kind: 'clock', message };
  }

  /** For metrics. */
  get cached(): CachedCredential {
    const current = this.#current;
    const now = this.#options.clock();
    const askedAt = this.#askedAt;
    // A clock that was set back makes the time unknown.
    const idle = now - askedAt > inUseMs || now < askedAt;
    // Metrics have the expiry of credentials in use. One that has expired is in use if it was asked for since.
    const isUnseen = (end: number) => end <= now && askedAt < end;
    const endInUse = (end: number | undefined) => (idle || (end !== undefined && isUnseen(end)) ? undefined : end);
    return {
      provider: this.#call.provider,
      hasCredential: current !== undefined,
      expiresAt: endInUse(current?.expiresAt),
      certificateEndsAt: endInUse(current?.keyPair?.endsAt),
    };
  }

  #report(replaced: Credential | undefined, { authorization, keyPair, expiresAt }: Credential): void {
    const before = replaced?.keyPair;
    emit(this.#options.observer, 'credential', {
      provider: this.#call.provider,
      hasToken: authorization !== undefined,
      hasCertificate: keyPair !== undefined,
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(keyPair ? { certificateEndsAt: keyPair.endsAt } : {}),
      ...(before && before.identity !== keyPair?.identity ? { replacedCertificateStartsAt: before.startsAt } : {}),
    });
  }

  /** Starts a cooldown. Returns the error for the callers, which says how long it lasts. */
  #fail(error: unknown): unknown {
    this.#running = undefined;
    this.#failures += 1;
    const ms = backoffMs(this.#failures);
    this.#cooldown.set(this.#options.clock(), ms);
    if (!(error instanceof PluginError)) return error;
    this.#failure = error.heldBack(ms);
    return this.#failure;
  }

  #refreshFailed(what: string, error: unknown, asker: Asker | undefined): void {
    const known = error instanceof PluginError;
    if (known && error.code === 'PLUGIN_STOPPED') return;
    const why = known ? error.message : `${this.#call.origin}: unexpected failure`;
    const warning: SourceWarning = {
      kind: 'refresh',
      ...(known ? { code: error.code } : {}),
      message: `${what}: ${why}`,
    };
    // A run that succeeded meanwhile has resolved it.
    if (this.#current && (!known || this.#failure !== undefined)) this.#refreshWarning = warning;
    asker?.refreshFailed(warning);
  }
}

/** After 70 % to 90 % of the lifetime, at random, so that a fleet does not refresh all at once. */
function refreshTime(now: number, expiresAt: number | undefined): number {
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY;
  return now + (expiresAt - now) * (0.7 + 0.2 * Math.random());
}
