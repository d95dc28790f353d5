/** A credential that is cached, refreshed and shared, whatever it comes from; and the count of the 401s after which it is refreshed. */
import { type ClusterOfError, ConfigurationError, CredentialsError, PluginError } from '../errors/index.ts';
import type { RunReason } from '../observability/telemetry.ts';
import type { Warning } from '../observability/warning-limiter.ts';
import { backoffMs, Cooldown, LeakyBucket } from '../util/backoff.ts';
import { type Credential, secretsWith } from './credential.ts';
import type { ExecResponse } from './exec-credential.ts';

/** A problem with a credential that is used all the same. */
export interface SourceWarning extends Warning {
  readonly kind: 'refresh' | 'clock';
}

/** The cluster that a credential is for: the log names it. */
export interface Asker {
  readonly cluster: ClusterOfError;
  /** A refresh that this asker's request started has failed. */
  refreshFailed(warning: SourceWarning): void;
}

/** Why a new credential is needed, and what is known of those before. */
export interface Refresh {
  readonly reason: RunReason;
  /** The server's answer to the credential before (v1alpha1). */
  readonly response?: ExecResponse | undefined;
  /** Of the credentials before: a plugin may write them on stderr. */
  readonly secrets: readonly string[];
  /** The cluster that asked for it, for the log. */
  readonly cluster?: ClusterOfError | undefined;
  /** The credential that is in use. */
  readonly previous?: Credential | undefined;
}

/** Refreshes after 401s that one credential may have at once; then it may have one a second, however many connections ask. */
const mostAfterRejections = 10;

/**
 * Caches, refreshes and shares a credential; a subclass says where it comes from. It must not know what a request or a connection is.
 */
export abstract class CredentialSource {
  /** Opens messages: `access provider google`. */
  protected readonly origin: string;
  readonly #clock: () => number;
  #current: Credential | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;
  #secrets: readonly string[] = [];
  #running: Promise<Credential> | undefined;
  #failure: unknown;
  #failures = 0;
  /** After a failure, and after a credential that had already expired: such a credential is used during its cooldown. */
  readonly #cooldown = new Cooldown();
  readonly #afterRejections = new LeakyBucket(1_000);
  #clockWarning: SourceWarning | undefined;
  #refreshWarning: SourceWarning | undefined;

  constructor(origin: string, clock: () => number) {
    this.origin = origin;
    this.#clock = clock;
  }

  /** What `supply` does, for messages: `the plugin runs`. */
  protected abstract readonly supplying: string;

  /** Gets a credential: runs the plugin, or reads the files. */
  protected abstract supply(refresh: Refresh): Promise<Credential>;

  /** A credential is in use now. Decides when the next one is due. */
  protected abstract taken(credential: Credential, before: Credential | undefined, now: number): void;

  /** Whether a refresh starts in the background, while requests still use the current credential. */
  protected abstract isDue(now: number): boolean;

  /** The current credential, when it was last asked for, and the time. */
  protected get use() {
    return { current: this.#current, askedAt: this.#askedAt, now: this.#clock() };
  }

  /** Of the current credential. They are logged for every cluster that uses it. */
  get warnings(): readonly SourceWarning[] {
    return [this.#refreshWarning, this.#clockWarning].filter((warning) => warning !== undefined);
  }

  /** Texts that a server or a failing plugin may repeat, and that must never be printed: of the last credentials, invalidated ones included. */
  get secrets(): readonly string[] {
    return this.#secrets;
  }

  /** In words: whether there is a credential, and until when. */
  get state(): string {
    if (this.#current && this.#isUsable(this.#current, this.#clock())) return describeCredential(this.#current);
    if (this.#running) return this.supplying;
    if (this.#failure instanceof CredentialsError) return `no credential: ${this.#failure.code}`;
    return this.#current ? 'the credential has expired' : 'no credential yet';
  }

  /** Returns the credential if there is one, else a promise that all current callers share. */
  get(asker?: Asker): Credential | Promise<Credential> {
    const now = this.#clock();
    this.#askedAt = now;
    const current = this.#current;
    if (current && this.#isUsable(current, now)) {
      if (this.isDue(now)) this.#refreshInBackground(now, asker);
      return current;
    }
    if (this.#running) return this.#running;
    const left = this.#cooldown.left(now);
    if (this.#failure instanceof PluginError && left > 0) return Promise.reject(this.#failure.heldBack(left));
    return this.#refresh(current ? 'expired' : 'first', asker);
  }

  /**
   * After a 401: resolves to the credential to replay the request with, or to `undefined` if there is no better one. Never rejects.
   * Rejections are counted per connection, so that one broken cluster never blocks the others that share this credential.
   */
  async afterRejection(
    rejected: Credential,
    rejections: Rejections,
    response?: ExecResponse,
    asker?: Asker,
  ): Promise<Credential | undefined> {
    if (this.#current && this.#current !== rejected) return this.#current;
    try {
      if (!this.#running) {
        const now = this.#clock();
        const tooMany = this.#afterRejections.level(now) > mostAfterRejections - 1;
        // Files that could not be read may be back: reading them costs little.
        const isHeldBack = !(this.#failure instanceof ConfigurationError) && this.#cooldown.left(now) > 0;
        if (tooMany || rejections.isCoolingDown(now) || isHeldBack) return undefined;
        rejections.add(now);
        this.#afterRejections.add(now, mostAfterRejections);
      }
      const credential = await (this.#running ?? this.#refresh('rejected', asker, response));
      return credential === rejected ? undefined : credential;
    } catch (error) {
      // The caller gets the server's own 401, so only the log has the reason.
      this.#refreshFailed("a refresh after a 401 failed, so the caller gets the server's 401", error, asker);
      return undefined;
    }
  }

  /** Forgets the credential. The next request gets a new one, also during a cooldown. */
  invalidate(): void {
    this.#current = undefined;
    this.#running = undefined;
    this.#failure = undefined;
    this.#cooldown.clear();
  }

  #isUsable({ expiresAt }: Credential, now: number): boolean {
    if (expiresAt === undefined || now <= expiresAt) return true;
    return this.#failure === undefined && this.#cooldown.left(now) > 0;
  }

  #refreshInBackground(now: number, asker: Asker | undefined): void {
    if (this.#running || this.#cooldown.left(now) > 0) return;
    this.#refresh('ahead', asker).catch((error: unknown) =>
      this.#refreshFailed('a refresh in the background failed, and the old credential stays in use', error, asker),
    );
  }

  #refresh(reason: RunReason, asker: Asker | undefined, response?: ExecResponse): Promise<Credential> {
    const refresh = { reason, response, secrets: this.#secrets, cluster: asker?.cluster, previous: this.#current };
    // The result of a run that `invalidate()` has overtaken is not cached.
    const isCurrent = () => this.#running === running;
    const running = this.supply(refresh).then(
      (credential) => {
        if (credential !== refresh.previous) this.#secrets = secretsWith(credential, this.#secrets);
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
    const now = this.#clock();
    const before = this.#current;
    this.#running = undefined;
    this.#current = credential;
    this.#failure = undefined;
    this.#refreshWarning = undefined;
    this.#clockWarning = undefined;
    this.#cooldown.clear();
    const { expiresAt } = credential;
    if (expiresAt !== undefined && expiresAt <= now) this.#useExpired(now, expiresAt);
    else this.#failures = 0;
    this.taken(credential, before, now);
  }

  /** Most likely a clock is wrong: uses the credential, but does not get another one for every request. */
  #useExpired(now: number, expiredAt: number): void {
    this.#startCooldown(now);
    const what = `returned a credential that expired ${Math.round((now - expiredAt) / 1000)} s ago`;
    const advice = 'it is used all the same. Check the clocks of this machine and of the issuer.';
    this.#clockWarning = { kind: 'clock', message: `${this.origin} ${what}; ${advice}` };
  }

  #startCooldown(now: number): number {
    this.#failures += 1;
    const ms = backoffMs(this.#failures);
    this.#cooldown.set(now, ms);
    return ms;
  }

  /** Starts a cooldown. Returns the error for the callers, which says how long it lasts. */
  #fail(error: unknown): unknown {
    this.#running = undefined;
    const ms = this.#startCooldown(this.#clock());
    this.#failure = error instanceof PluginError ? error.heldBack(ms) : error;
    return this.#failure;
  }

  #refreshFailed(what: string, error: unknown, asker: Asker | undefined): void {
    const known = error instanceof CredentialsError;
    if (known && error.code === 'PLUGIN_STOPPED') return;
    const why = known ? error.message : `${this.origin}: unexpected failure`;
    const warning: SourceWarning = {
      kind: 'refresh',
      ...(known ? { code: error.code } : {}),
      message: `${what}: ${why}`,
    };
    // A run that succeeded meanwhile has resolved it.
    if (this.#current && this.#failure !== undefined) this.#refreshWarning = warning;
    asker?.refreshFailed(warning);
  }
}

/** Never the credential itself. */
export function describeCredential({ authorization, token, keyPair, expiresAt }: Credential): string {
  const secret = token === undefined ? 'a password' : 'a token';
  const what = [authorization === undefined ? [] : [secret], keyPair ? ['a client certificate'] : []].flat();
  const until = expiresAt === undefined ? 'without an expiry' : `good until ${new Date(expiresAt).toISOString()}`;
  return what.length === 0 ? 'needs no credential' : `${what.join(' and ')}, ${until}`;
}

/** Refreshes that helped, and that need no cooldown. */
const freeRefreshes = 5;
/** The count stops here, so that it is back at zero within minutes after an hour of 401s. */
const maxCounted = freeRefreshes + 6;

/**
 * The 401s of one connection. They delay the refreshes of this connection only.
 *
 * A refresh that helps says little about the next one: of two replicas behind an address, one may refuse every credential. So the first
 * few successful ones are free; the others are delayed like unsuccessful ones. Only time lowers the count.
 */
export class Rejections {
  readonly #recent = new LeakyBucket(30_000);
  readonly #cooldown = new Cooldown();
  #lastAt = 0;

  isCoolingDown(now: number): boolean {
    return this.#cooldown.left(now) > 0;
  }

  /** Counts a 401 that starts a refresh, and delays the next one. */
  add(now: number): void {
    this.#recent.add(now, maxCounted);
    this.#lastAt = now;
    this.#cooldown.set(now, backoffMs(Math.ceil(this.#recent.level(now))));
  }

  /** The server accepted a replay with the refreshed credential, so the next rotation is followed at once. */
  replayAccepted(): void {
    const beyond = Math.ceil(this.#recent.level(this.#lastAt)) - freeRefreshes;
    this.#cooldown.set(this.#lastAt, beyond > 0 ? backoffMs(beyond) : 0);
  }
}
