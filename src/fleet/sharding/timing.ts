/** All times of sharding. They follow from the duration of a replica's Lease. Pure. */
import type { Clock } from '../clock.ts';

/** The longest duration of a replica's Lease in milliseconds. */
export const longestLeaseMs = 600_000;

export interface Timing {
  /** How long others wait after the last change of a replica's Lease. */
  readonly durationMs: number;
  /** How long after the start of its last successful renewal a replica stops its work. */
  readonly deadlineMs: number;
  readonly renewMs: number;
  /** Before a renewal that failed is tried again. */
  readonly retryMs: number;
  /** Before a failed change of a shard's Lease is tried again. */
  readonly shardRetryMs: number;
  /** For a request, if the hub is fast. */
  readonly requestTimeoutMs: number;
  /** For a request, however slow the hub is. */
  readonly longestRequestMs: number;
  /** The least time that a renewal gets before the deadline. */
  readonly shortestMs: number;
}

/**
 * A hub that is away for less than a third of the duration changes nothing. It is back 7/12 of the duration after the last
 * renewal at the latest, when 1/12 is left to the deadline: a renewal that hangs is given up after half of that, and the next
 * one succeeds.
 */
export function timingOf(durationMs: number): Timing {
  return {
    durationMs,
    deadlineMs: (durationMs * 2) / 3,
    renewMs: durationMs / 4,
    retryMs: durationMs / 60,
    shardRetryMs: durationMs / 15,
    requestTimeoutMs: durationMs / 6,
    longestRequestMs: durationMs / 3,
    shortestMs: durationMs / 30,
  };
}

/** A little less at random, so that requests that began together spread out. */
export function spread(ms: number, random: () => number): number {
  return ms * (0.9 + 0.1 * random());
}

/** Whole milliseconds to a moment of the clock's uptime: what is less than one would be waited for again and again. */
export function millisecondsTo(moment: number, clock: Clock): number {
  return Math.max(0, Math.ceil(moment - clock.uptime()));
}
