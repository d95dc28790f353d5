/** The status of a cluster. Pure. */
import { FleetError } from '../../errors/index.ts';
import { printable } from '../../util/printable.ts';
import type { Cluster } from '../cluster.ts';
import type { ClusterState } from '../telemetry.ts';

/** In bytes, as of an error's message. */
const longestMessage = 4_096;

/** The state of a cluster and the reason for it. */
export interface Status {
  readonly state: ClusterState;
  /** A stable code. */
  readonly reason: string;
  readonly message: string;
}

/** The problems of the informers and controllers of an engaged cluster. */
export function problemsOf({ informers }: Cluster, controllers: readonly string[]): Status | undefined {
  const watches = [...informers].flatMap(({ options, problem }) =>
    problem ? [`${options.kind} (${options.apiVersion}): ${problem.reason}: ${problem.message}`] : [],
  );
  const message = [...watches, ...controllers].join('; ');
  return message === '' ? undefined : shown({ state: 'Engaged', reason: 'WATCH_FAILING', message });
}

/** Messages quote profiles, servers and Leases: they become one line of bounded length. */
export function shown(status: Status): Status {
  return { ...status, message: printable(status.message, longestMessage) };
}

/** The status of a cluster that is disengaged to be engaged again. */
export function again(reason: string, message: string): Status {
  return { state: 'Pending', reason, message };
}

export function disengaged(cluster: string, { reason, message }: Status): FleetError {
  return new FleetError('CLUSTER_DISENGAGED', `${cluster} is disengaged (${reason}): ${message}`, { cluster, reason });
}

export function isGivenUp(error: unknown): boolean {
  return error instanceof FleetError && error.code === 'CLUSTER_DISENGAGED';
}
