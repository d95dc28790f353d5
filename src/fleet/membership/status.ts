/** The status of a cluster, and the stable code of what failed. */
import { ApiError, CredentialsError, FleetError } from '../../errors/index.ts';
import { reasonOf } from '../../observability/callbacks.ts';
import type { Logger } from '../../observability/logger.ts';
import { codeFieldOf } from '../../util/guards.ts';
import { printable } from '../../util/printable.ts';
import type { Cluster } from '../cluster.ts';
import { type ClusterState, emit, type FleetObserver } from '../telemetry.ts';

/** Why a cluster is in a state, or what has failed. */
export interface Why {
  /** A stable code. Of a failure its stage and the error's code: `REQUEST/STATUS_401`, `HANDLERS/HANDLER_FAILED`. */
  readonly reason: string;
  readonly message: string;
}

/** The state of a cluster and the reason for it. */
export interface Status extends Why {
  readonly state: ClusterState;
}

/** @internal The problems of the informers of an engaged cluster. */
export function problemsOf({ informers }: Cluster): Status | undefined {
  const watches = [...informers].flatMap(({ options, problem }) =>
    problem ? [`${options.kind} (${options.apiVersion}): ${problem.reason}: ${problem.message}`] : [],
  );
  const message = watches.join('; ');
  return message === '' ? undefined : shown({ state: 'Engaged', reason: 'WATCH_FAILING', message });
}

/** Messages quote profiles, servers and Leases: they become one line of 4 KiB at most, as those of errors. */
export function shown({ state, reason, message }: Status): Status {
  return { state, reason, message: printable(message, 4_096) };
}

/** Reports a status to metrics, events and the log; without a state of a cluster that has left. */
export function announce(
  cluster: string,
  { state, reason, message }: Why & { readonly state: ClusterState | undefined },
  { observer, logger }: { readonly observer: FleetObserver | undefined; readonly logger: Logger },
): void {
  emit(observer, 'cluster', { cluster, state, reason, message });
  // It may be a cluster of its own, which nothing works on.
  const level = reason === 'SAME_SERVER' ? 'warn' : 'debug';
  if (state) logger[level]?.({ cluster }, `${cluster}: ${state} (${reason}): ${message}`);
}

/** The status of a cluster that is disengaged to be engaged again. */
export function again(reason: string, message: string): Status {
  return { state: 'Pending', reason, message };
}

export const replaced = again('PROFILE_REPLACED', 'the profile was deleted and made again');

export function disengaged(cluster: string, { reason, message }: Why): FleetError {
  return new FleetError('CLUSTER_DISENGAGED', `${cluster} is disengaged (${reason}): ${message}`, { cluster, reason });
}

export type Stage = 'RESOLVE' | 'CREDENTIAL' | 'REQUEST' | 'HANDLERS';

export function failureOf(stage: Stage, error: unknown): Why {
  return { reason: `${stage}/${codeOf(stage, error)}`, message: reasonOf(error) };
}

function codeOf(stage: Stage, error: unknown): string {
  if (error instanceof ApiError && error.statusCode !== undefined) return `STATUS_${error.statusCode}`;
  if (error instanceof CredentialsError) return error.code;
  if (stage === 'HANDLERS') return 'HANDLER_FAILED';
  return codeFieldOf(error).code ?? 'ERROR';
}
