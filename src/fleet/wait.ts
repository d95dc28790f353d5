/** A wait that ends after its time, or when `wake` is called. One caller may wait at a time. */
import type { Clock } from './clock.ts';

export class Wait {
  readonly #clock: Clock;
  #isAwake = false;
  #resolve = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends the current wait, or else the next one at once. */
  readonly wake = (): void => {
    this.#isAwake = true;
    this.#resolve();
  };

  /** Resolves after `ms` milliseconds, or when `wake` is called. */
  async for(ms = Number.POSITIVE_INFINITY): Promise<void> {
    if (!this.#isAwake && ms > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#resolve = resolve;
      const cancel = ms === Number.POSITIVE_INFINITY ? () => {} : this.#clock.after(ms, resolve);
      await promise;
      cancel();
      this.#resolve = () => {};
    }
    this.#isAwake = false;
  }
}
