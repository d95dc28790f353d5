/**
 * The one place that runs a plugin for one distinct plugin input: caches, refreshes and shares what it returns.
 * A PluginCall comes in, Credentials go out. It must not know what a request or a connection is.
 */

import { backoffMs } from '../backoff.ts';
import { PluginError } from '../errors.ts';
import { Hold, SinkingCount } from '../hold.ts';
import type { HeldCredential } from '../metrics.ts';
import { emit, type RunReason } from '../telemetry.ts';
import { type Asker, type CredentialSupply, noTroubles, type SupplyTrouble } from './credential-supply.ts';
import type { Credential, ExecResponse } from './exec-credential.ts';
import { describeCredential, runPlugin } from './plugin.ts';
import type { PluginCall, PluginOptions } from './plugin-call.ts';
import type { Rejections } from './rejections.ts';
import { RunHistory } from './run-history.ts';

export interface SourceOptions extends PluginOptions {
  /** The time, in milliseconds since 1970. */
  readonly clock: () => number;
}

/** Refreshes after 401s that one credential may have at once, and then one a second, however many connections ask for it. */
const mostAfterRejections = 10;
/** How many of these are for connections whose refreshes do not help. The rest is for the others, so that they do not wait. */
const mostUnhelped = 5;

/** Milliseconds that a credential is good for at least; one that is good for less may come once, and not again and again. */
const leastLifeMs = 1_000;

/** The secrets of two credentials: a token and a key each. */
const mostSecrets = 4;

/** Milliseconds since somebody last asked for a credential until it is no longer in use. */
const inUseMs = 900_000;

export class CredentialSource implements CredentialSupply {
  readonly #call: PluginCall;
  readonly #options: SourceOptions;
  #current: Credential | undefined;
  /** When somebody last wanted the credential. */
  #askedAt = Number.NEGATIVE_INFINITY;
  /** Of the last credentials, also of those that were invalidated: a failing plugin may print them. */
  #secrets: readonly string[] = [];
  /** When a refresh starts behind the requests that still use the current credential. */
  #refreshAt = Number.POSITIVE_INFINITY;
  /** A credential that came expired, or nearly so again, is used all the same while this lasts. */
  readonly #used = new Hold();
  /** The last answer was good for less than `leastLifeMs`. */
  #cameShort = false;
  #running: Promise<Credential> | undefined;
  #failure: PluginError | undefined;
  #failures = 0;
  readonly #held = new Hold();
  readonly #afterRejections = new SinkingCount(1_000);
  /** Of this plugin input. */
  readonly #history = new RunHistory();
  /** Of the last run. */
  #clockTrouble: SupplyTrouble | undefined;
  #refreshTrouble: SupplyTrouble | undefined;
  #leftOut = noTroubles;
  /** All of these. */
  #troubles = noTroubles;
  /** Counts the calls of `invalidate()`: the result of a run that began before the last one is not kept. */
  #generation = 0;
  #runs = 0;

  constructor(call: PluginCall, options: SourceOptions) {
    this.#call = call;
    this.#options = options;
  }

  /** How often the plugin has been run. */
  get runs(): number {
    return this.#runs;
  }

  get troubles(): readonly SupplyTrouble[] {
    return this.#troubles;
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

  /** The credential, at once where there is one; otherwise the run that all who ask now share. */
  get(asker?: Asker): Credential | Promise<Credential> {
    const now = this.#options.clock();
    this.#askedAt = now;
    const current = this.#current;
    if (current && this.#isUsable(current, now)) {
      if (now >= this.#refreshAt) this.#refreshBehind(now, asker);
      return current;
    }
    if (this.#running) return this.#running;
    const held = this.#held.left(now);
    if (this.#failure && held > 0) return Promise.reject(this.#failure.heldBack(held));
    return this.#run(current ? 'expired' : 'first', asker);
  }

  /**
   * A server answered 401 to a request that used `rejected`. Gives the credential to replay it with, or `undefined`
   * where there is no better one. Rejections are counted per connection, so that one broken cluster never blocks the
   * others that share this credential.
   */
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
      const most = rejections.isUnhelped(now) ? mostUnhelped : mostAfterRejections;
      const tooMany = this.#afterRejections.value(now) > most - 1;
      if (tooMany || rejections.isHeld(now) || this.#held.left(now) > 0) return undefined;
      rejections.add(now);
      this.#afterRejections.add(now, mostAfterRejections);
      return await this.#run('rejected', asker, response);
    } catch (error) {
      // The caller gets the server's own 401; the reason for it would be lost otherwise.
      this.#refreshFailed("a refresh after a 401 failed, the server's 401 goes to the caller", error, asker);
      return undefined;
    }
  }

  /** Forgets the credential; the next request runs the plugin, even while it is held back. */
  invalidate(): void {
    this.#generation += 1;
    this.#current = undefined;
    this.#running = undefined;
    this.#failure = undefined;
    this.#held.clear();
  }

  #isUsable(credential: Credential, now: number): boolean {
    return credential.expiresAt === undefined || now <= credential.expiresAt || this.#used.left(now) > 0;
  }

  #refreshBehind(now: number, asker: Asker | undefined): void {
    if (this.#running || this.#held.left(now) > 0) return;
    this.#run('ahead', asker).catch((error: unknown) =>
      this.#refreshFailed('a refresh ahead of expiry failed, the old credential serves on', error, asker),
    );
  }

  #run(reason: RunReason, asker: Asker | undefined, response?: ExecResponse): Promise<Credential> {
    const generation = this.#generation;
    this.#runs += 1;
    const previous = {
      reason,
      response,
      secrets: this.#secrets,
      history: this.#history,
      cluster: asker?.cluster,
      leftOut: (names: readonly string[]) => {
        this.#leftOut = names.map((name) => this.#leftOutTrouble(name));
      },
    };
    const running = runPlugin(this.#call, this.#options, previous).then(
      (credential) => {
        this.#secrets = [...credential.secrets, ...this.#secrets].slice(0, mostSecrets);
        if (generation === this.#generation) this.#take(credential);
        return credential;
      },
      (error: unknown) => {
        throw generation === this.#generation ? this.#fail(error) : error;
      },
    );
    // The failure is kept for the next caller. Without this line, a run without callers would be an unhandled rejection.
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
    this.#refreshTrouble = undefined;
    this.#clockTrouble = undefined;
    this.#held.clear();
    const { expiresAt } = credential;
    const leftMs = expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt - now;
    const isShort = leftMs < leastLifeMs;
    // One may be the last moment of what the plugin has kept, and its next answer a good one.
    if (leftMs < 0 || (isShort && this.#cameShort)) {
      this.#useHeldBack(now, leftMs);
    } else {
      if (!isShort) this.#failures = 0;
      this.#used.clear();
      this.#refreshAt = refreshTime(now, expiresAt);
    }
    this.#cameShort = isShort;
    this.#gatherTroubles();
    this.#report(before, credential);
  }

  /** It has expired, or will at once. Most likely a clock is off: use it, but do not ask again for every request. */
  #useHeldBack(now: number, leftMs: number): void {
    this.#failures += 1;
    const ms = backoffMs(this.#failures);
    this.#held.set(now, ms);
    this.#used.set(now, ms);
    this.#refreshAt = Number.POSITIVE_INFINITY;
    const what =
      leftMs < 0
        ? `a credential that expired ${Math.round(-leftMs / 1000)} s ago; it is`
        : 'one credential after the other that is good for less than a second; each is';
    const message =
      `${this.#call.origin}: plugin ${this.#call.exec.command} returned ${what} used all the same. ` +
      'Check the clocks of this machine and of the issuer.';
    this.#clockTrouble = { kind: 'clock', code: '', message };
  }

  #leftOutTrouble(name: string): SupplyTrouble {
    const why = `the process's environment has ${name}, and profileSourcedEnvVarsPolicy is AppendIfNotExists`;
    const message = `${this.#call.origin}: the profile's variable ${name} is not given to plugin ${this.#call.exec.command}`;
    return { kind: 'left out', code: name, message: `${message}: ${why}` };
  }

  #gatherTroubles(): void {
    const all = [this.#refreshTrouble, this.#clockTrouble, ...this.#leftOut].filter((trouble) => trouble !== undefined);
    this.#troubles = all.length === 0 ? noTroubles : all;
  }

  /** What is held now, for metrics. */
  get held(): HeldCredential {
    const current = this.#current;
    const sinceAsked = this.#options.clock() - this.#askedAt;
    // After the clock was set back, nobody knows when somebody asked.
    const idle = sinceAsked > inUseMs || sinceAsked < 0;
    // Metrics have the end of a credential that is in use. If it has ended, that means: somebody has asked for it since.
    const endInUse = (end: number | undefined) =>
      idle || (end !== undefined && this.#isEndUnseen(end)) ? undefined : end;
    return {
      provider: this.#call.provider,
      hasCredential: current !== undefined,
      expiresAt: endInUse(current?.expiresAt),
      certificateEndsAt: endInUse(current?.keyPair?.endsAt),
    };
  }

  #isEndUnseen(end: number): boolean {
    return end <= this.#options.clock() && this.#askedAt < end;
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

  /** Holds back the next run. Gives the error for those who wait: it says for how long. */
  #fail(error: unknown): unknown {
    this.#running = undefined;
    this.#failures += 1;
    const ms = backoffMs(this.#failures);
    this.#held.set(this.#options.clock(), ms);
    if (!(error instanceof PluginError)) return error;
    this.#failure = error.heldBack(ms);
    return this.#failure;
  }

  #refreshFailed(what: string, error: unknown, asker: Asker | undefined): void {
    const known = error instanceof PluginError;
    if (known && error.code === 'PLUGIN_STOPPED') return;
    const why = known ? error.message : `${this.#call.origin}: unexpected failure`;
    const trouble: SupplyTrouble = {
      kind: 'refresh',
      code: known ? error.code : '',
      message: `${what}: ${why}`,
    };
    // A run that has succeeded in the meantime ends this trouble.
    if (this.#current && (!known || this.#failure !== undefined)) {
      this.#refreshTrouble = trouble;
      this.#gatherTroubles();
    }
    asker?.refreshFailed(trouble);
  }

  toJSON(): string {
    return '[credential source]';
  }
}

/** A share of the lifetime, jittered: between 70 % and 90 % of it, so that a fleet does not refresh at once. */
function refreshTime(now: number, expiresAt: number | undefined): number {
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY;
  return now + (expiresAt - now) * (0.7 + 0.2 * Math.random());
}
