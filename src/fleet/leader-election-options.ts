/** What a leader election is told when it is made, and when it runs. */
import type { KubeConfig } from '@kubernetes/client-node';
import { z } from 'zod';
import { isSignal } from '../argument.ts';
import type { Logger } from '../logger.ts';
import { milliseconds } from '../option-schemas.ts';
import type { Clock } from './clock.ts';
import type { FleetMetrics } from './metrics.ts';
import { fleetShape, functionOf, leaseName, namespace, text } from './option-schemas.ts';

/** Options of `new LeaderElection`; each is validated at construction. */
export interface LeaderElectionOptions {
  /** The API server that has the Lease: any KubeConfig, a RestConfig of ours or client-node's. */
  readonly hub: KubeConfig;
  readonly namespace: string;
  /** Of the Lease. All programs that name the same Lease contend for it, in any language. */
  readonly name: string;
  /** No two processes that live may have the same. Default: `POD_NAME` or the host's name, and something random. */
  readonly identity?: string;
  /** Milliseconds, whole seconds, that others wait after the last sign of a leader. Default: 15_000. */
  readonly leaseDurationMs?: number;
  /** Milliseconds after its last successful renewal in which a leader gives up. Default: 10_000. */
  readonly renewDeadlineMs?: number;
  /** Milliseconds between two tries. Default: 2_000. */
  readonly retryPeriodMs?: number;
  /** Give the Lease away when `signal` has aborted and the work has ended, so that the next one begins at once. Default: true. */
  readonly releaseOnCancel?: boolean;
  /** Default: warnings go to stderr. */
  readonly logger?: Logger;
  /** `leader_election_master_status`. */
  readonly metrics?: FleetMetrics;
  /** For tests. */
  readonly clock?: Clock;
}

/** Options of `LeaderElection.run`. */
export interface LeaderElectionRun {
  /** Ends it: the work's signal aborts, and when it has ended the Lease is given away. */
  readonly signal?: AbortSignal;
  /** The work of a leader. Its signal aborts when it has to end, because `signal` did or the Lease is lost. May return before. */
  readonly onStartedLeading: (signal: AbortSignal) => unknown;
  /** Told when this process leads no more. */
  readonly onStoppedLeading?: () => unknown;
  /** Told of each leader that is seen, this process included. */
  readonly onNewLeader?: (identity: string) => unknown;
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
    releaseOnCancel: z.boolean({ error: 'must be true or false' }).default(true),
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
  signal: z.custom<AbortSignal>(isSignal, { error: 'must be an AbortSignal' }).optional(),
  onStartedLeading: functionOf<(signal: AbortSignal) => unknown>('that does the work of a leader'),
  onStoppedLeading: functionOf<() => unknown>('').optional(),
  onNewLeader: functionOf<(identity: string) => unknown>('that takes an identity').optional(),
});

/** @internal */
export type ElectionSettings = z.output<typeof electionSchema>;

/** @internal */
export type ElectionCallbacks = Omit<z.output<typeof runSchema>, 'signal'>;
