/** Time for everything in the fleet that waits, so that a test can control it. */
import { systemTimers, type Timers } from '../util/abortable.ts';

export interface Clock extends Timers {
  /** Milliseconds since 1970. */
  now(): number;
  /** Monotonic milliseconds. */
  uptime(): number;
}

export const systemClock: Clock = {
  ...systemTimers,
  now: () => Date.now(),
  uptime: () => performance.now(),
};

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
