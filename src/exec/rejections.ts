import { backoffMs } from '../util/backoff.ts';
import { Cooldown, LeakyBucket } from '../util/cooldown.ts';

/** Refreshes that helped, and that need no cooldown. */
const freeRefreshes = 5;
/** The count stops here, so that it is back at zero within minutes after an hour of 401s. */
const maxCounted = freeRefreshes + 6;

/**
 * The 401s of one connection. They delay the refreshes of this connection only.
 *
 * A refresh that helps says little about the next one: of two replicas behind an address, one may refuse every credential. So the first
 * few that help are free, and the others are delayed like those that do not help. Only time lowers the count.
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
