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
