import { backoffMs } from '../backoff.ts';
import { Hold, SinkingCount } from '../hold.ts';

/**
 * The 401s of one connection. They hold back the refreshes of this connection only. A refresh that helps says little about the
 * next one: if there are two replicas behind an address, one may refuse every credential. So a few refreshes that help are let
 * through at once. Then they are held back like those that do not help. The count goes down with time only.
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

  /** Whether its last refresh was a short time ago and did not help. The refreshes of others go first then. */
  isUnhelped(now: number): boolean {
    return this.#unhelped && this.#recent.value(now) > 0;
  }

  /** A replay with the refreshed credential was accepted, so the next rotation should be followed at once. */
  accepted(): void {
    this.#unhelped = false;
    const beyond = Math.ceil(this.#recent.value(this.#lastAt)) - helpfulAtOnce;
    this.#hold.set(this.#lastAt, beyond > 0 ? backoffMs(beyond) : 0);
  }
}

/** Refreshes that help, and are let through without a pause. */
const helpfulAtOnce = 5;
/** More are not counted, so that after an hour of trouble the count is back at zero within minutes. */
const mostRecent = helpfulAtOnce + 6;
