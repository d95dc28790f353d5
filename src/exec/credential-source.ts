/** Where a connection gets its credential from: a plugin, or a kubeconfig that holds one. Counts the 401s that such a credential meets. */
import type { ClusterOfError } from '../errors/index.ts';
import type { Warning } from '../observability/warning-limiter.ts';
import { backoffMs, Cooldown, LeakyBucket } from '../util/backoff.ts';
import type { Credential } from './credential.ts';
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

export interface CredentialSource {
  /** Returns the credential at once if there is one. */
  get(asker?: Asker): Credential | Promise<Credential>;
  /** After a 401: resolves to the credential to replay the request with, or to `undefined` if there is no better one. Never rejects. */
  afterRejection(
    rejected: Credential,
    rejections: Rejections,
    response?: ExecResponse,
    asker?: Asker,
  ): Promise<Credential | undefined>;
  /** Of the current credential. They are logged for every cluster that uses it. */
  readonly warnings: readonly SourceWarning[];
  /** Texts that a server may repeat, and that must never be printed. */
  readonly secrets: readonly string[];
  /** In words: whether there is a credential, and until when. */
  readonly state: string;
  /** Forgets the credential. */
  invalidate(): void;
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

  /** Whether the next refresh has to wait. */
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
