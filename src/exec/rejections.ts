import { backoffMs, Hold, SinkingCount } from './backoff.ts';

/**
 * One connection's 401s: they hold back its refreshes, and nobody else's. A refresh that helps says little of the next one: of
 * two replicas behind one address one may refuse every credential. So a few that help are let through at once, then they are
 * held back like those that do not, and only time forgets them.
 */
export class Rejections {
  readonly #recent = new SinkingCount(30_000);
  readonly #hold = new Hold();
  #lastAt = 0;
  /** No replay has been accepted since its last refresh. */
  #unhelped = false;

  isHeld(now: number): boolean {
    return this.#hold.left(now) > 0;
  }

  /** Counts one more 401 that starts a refresh, and holds back the next. */
  add(now: number): void {
    this.#recent.add(now, mostRecent);
    this.#lastAt = now;
    this.#unhelped = true;
    this.#hold.set(now, backoffMs(Math.ceil(this.#recent.value(now))));
  }

  /** Its last refresh did not help, and that was not long ago: those of others, which may, go first. */
  isUnhelped(now: number): boolean {
    return this.#unhelped && this.#recent.value(now) > 0;
  }

  /** A replay with the refreshed credential was accepted: a rotation should be followed at once by the next. */
  accepted(): void {
    this.#unhelped = false;
    const beyond = Math.ceil(this.#recent.value(this.#lastAt)) - helpfulAtOnce;
    this.#hold.set(this.#lastAt, beyond > 0 ? backoffMs(beyond) : 0);
  }
}

/** Refreshes that help, and are let through without a pause. */
const helpfulAtOnce = 5;
/** More are not counted, so that an hour of trouble is forgotten in minutes. */
const mostRecent = helpfulAtOnce + 6;
