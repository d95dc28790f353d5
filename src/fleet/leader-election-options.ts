/** Options of a leader election, and of its runs. */
import { z } from 'zod';
import type { Logger } from '../observability/logger.ts';
import { milliseconds, namespace, signal, text } from '../options/option-schemas.ts';
import type { RestConfig } from '../rest/rest-config.ts';
import type { Clock } from './clock.ts';
import type { FleetMetrics } from './metrics.ts';
import { fleetShape, functionOf, leaseName } from './option-schemas.ts';

/** Options of `new LeaderElection`; each is validated at construction. */
export interface LeaderElectionOptions {
  /** The API server that has the Lease: `RestConfig.fromDefault()`. */
  readonly hub: RestConfig;
  readonly namespace: string;
  /** Of the Lease. All programs that name the same Lease contend for it, in any language. */
  readonly name: string;
  /** Unique among the processes that contend. Default: `POD_NAME` or the host's name, and something random. */
  readonly identity?: string | undefined;
  /** Milliseconds, whole seconds, that others wait after the last change that they saw: 1_000 or more. Default: 15_000. */
  readonly leaseDurationMs?: number | undefined;
  /** Milliseconds after its last successful renewal in which a leader gives up: 1 or more. Default: 10_000. */
  readonly renewDeadlineMs?: number | undefined;
  /** Milliseconds between two attempts: 1 or more. Default: 2_000. */
  readonly retryPeriodMs?: number | undefined;
  /** Default: warnings go to stderr. */
  readonly logger?: Logger | undefined;
  /** `leader_election_master_status`. */
  readonly metrics?: FleetMetrics | undefined;
  /** @internal For tests. */
  readonly clock?: Clock | undefined;
}

/** Options of `LeaderElection.run`. */
export interface LeaderElectionRun {
  /** Ends it: the work's signal aborts, and when the work has ended the Lease is released. The next leader begins at once. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The work of a leader. Its signal aborts when the work has to end, because `signal` aborted or the Lease is lost. May return
   * before. A process that was stopped for a while asks `isLeader`, which looks at the clock.
   */
  readonly onStartedLeading: (signal: AbortSignal) => unknown;
  /** Called when this process no longer leads. */
  readonly onStoppedLeading?: (() => unknown) | undefined;
  /** Called with each new leader that is seen, this process included. */
  readonly onNewLeader?: ((identity: string) => unknown) | undefined;
}

/** @internal As client-go has it: up to this much longer, so that contenders do not try together. */
export const jitter = 1.2;
const seconds = 'must be whole seconds in milliseconds: 15_000 for 15 s';

/** @internal */
export const electionSchema = z
  .strictObject({
    ...fleetShape,
    namespace,
    name: leaseName,
    identity: text('a text that no other process has').optional(),
    leaseDurationMs: milliseconds(1_000).multipleOf(1_000, { error: seconds }).default(15_000),
    renewDeadlineMs: milliseconds(1).default(10_000),
    retryPeriodMs: milliseconds(1).default(2_000),
  })
  .check(({ value: { leaseDurationMs, renewDeadlineMs, retryPeriodMs }, issues }) => {
    const refuse = (path: string, message: string) =>
      issues.push({ code: 'custom', path: [path], message, input: renewDeadlineMs });
    if (leaseDurationMs <= renewDeadlineMs)
      refuse('renewDeadlineMs', `must be less than leaseDurationMs (${leaseDurationMs})`);
    if (renewDeadlineMs <= retryPeriodMs * jitter)
      refuse(
        'retryPeriodMs',
        `must be less than ${(renewDeadlineMs / jitter).toFixed(0)}: renewDeadlineMs / ${jitter}`,
      );
  });

/** @internal */
export const runSchema = z.strictObject({
  signal,
  onStartedLeading: functionOf<(signal: AbortSignal) => unknown>('that does the work of a leader'),
  onStoppedLeading: functionOf<() => unknown>('').optional(),
  onNewLeader: functionOf<(identity: string) => unknown>('that takes an identity').optional(),
});

/** @internal */
export type ElectionSettings = z.output<typeof electionSchema>;

/** @internal */
export type ElectionCallbacks = Omit<z.output<typeof runSchema>, 'signal'>;
