/** When the next request for a Lease is due. The time is a little random, so that requests that began together spread out. */
import type { Clock } from '../clock.ts';
import type { Timing } from './timing.ts';

export class Attempts {
  readonly #clock: Clock;
  readonly #timing: Timing;
  readonly #random: () => number;
  #at = 0;

  constructor({
    clock,
    timing,
    random,
  }: { readonly clock: Clock; readonly timing: Timing; readonly random: () => number }) {
    this.#clock = clock;
    this.#timing = timing;
    this.#random = random;
    this.reset();
  }

  /** The clock's uptime. */
  get at(): number {
    return this.#at;
  }

  /** At once. */
  reset(): void {
    this.#at = Number.NEGATIVE_INFINITY;
  }

  renewed(): void {
    this.#in(this.#timing.renewMs);
  }

  failed(): void {
    this.#in(this.#timing.retryMs);
  }

  #in(ms: number): void {
    this.#at = this.#clock.uptime() + ms * (0.9 + 0.2 * this.#random());
  }
}
