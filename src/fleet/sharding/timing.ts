/** All times of sharding. They follow from the duration of a Lease. Pure. */

/** No replica has Leases that last longer: this many milliseconds. */
export const longestLeaseMs = 600_000;

/**
 * For how many milliseconds others wait for the holder of a Lease, which says a number of them or none. Replicas may have
 * different durations, and nobody may begin before the longest is over. What is shorter than the own duration, or longer than
 * any replica can have, was written by somebody else.
 */
export function believedMs(said: number | undefined, ownMs: number): number {
  return Math.min(Math.max(said ?? ownMs, ownMs), longestLeaseMs);
}

export interface Timing {
  /** How long others wait after the last sign of an owner. */
  readonly durationMs: number;
  /** How long after the start of its last successful renewal an owner ends. */
  readonly deadlineMs: number;
  readonly renewMs: number;
  readonly retryMs: number;
  readonly requestTimeoutMs: number;
}

export function timingOf(durationMs: number): Timing {
  return {
    durationMs,
    deadlineMs: (durationMs * 2) / 3,
    renewMs: durationMs / 3,
    retryMs: durationMs / 15,
    // A request that hangs leaves time for another before the deadline.
    requestTimeoutMs: durationMs / 6,
  };
}
