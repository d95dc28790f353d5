/** How long things take, all of it from the duration of a Lease. */
export interface Timing {
  /** Others wait so long after the last sign of an owner. */
  readonly durationMs: number;
  /** An owner ends so long after the start of its last successful renewal. */
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
