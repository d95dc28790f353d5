/** A wait that ends after its time, or when it is poked. One caller may wait at a time. */
import type { Clock } from './clock.ts';

export class Wait {
  readonly #clock: Clock;
  #poked = false;
  #wake = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends the current wait, or else the next one at once. */
  readonly poke = (): void => {
    this.#poked = true;
    this.#wake();
  };

  /** Resolves after `ms` milliseconds, or when it is poked. */
  async for(ms = Number.POSITIVE_INFINITY): Promise<void> {
    if (!this.#poked && ms > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const cancel = ms === Number.POSITIVE_INFINITY ? () => {} : this.#clock.after(ms, resolve);
      await promise;
      cancel();
      this.#wake = () => {};
    }
    this.#poked = false;
  }
}
