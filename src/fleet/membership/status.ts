/** How a cluster stands, in words. Pure. */
import { FleetError } from '../../errors.ts';
import { printable } from '../../printable.ts';
import type { Cluster } from '../cluster.ts';
import type { ClusterState } from '../telemetry.ts';

/** In bytes, as of an error's message. */
const longestMessage = 4_096;

/** How a cluster stands. */
export interface Status {
  readonly state: ClusterState;
  /** A stable code. */
  readonly reason: string;
  readonly message: string;
}

/** What the informers and the controllers of an engaged cluster have to complain about. */
export function troublesOf({ informers }: Cluster, controllers: readonly string[]): Status | undefined {
  const watches = [...informers].flatMap(({ options, trouble }) =>
    trouble ? [`${options.kind} (${options.apiVersion}): ${trouble.reason}: ${trouble.message}`] : [],
  );
  const message = [...watches, ...controllers].join('; ');
  return message === '' ? undefined : shown({ state: 'Engaged', reason: 'WATCH_FAILING', message });
}

/** What profiles, servers and Leases say stands in a message: on one line, and not too long. */
export function shown(status: Status): Status {
  return { ...status, message: printable(status.message, longestMessage) };
}

/** Disengaged in order to be engaged again. */
export function again(reason: string, message: string): Status {
  return { state: 'Pending', reason, message };
}

export function disengaged(cluster: string, { reason, message }: Status): FleetError {
  return new FleetError('CLUSTER_DISENGAGED', `${cluster} is disengaged (${reason}): ${message}`, { cluster, reason });
}

export function isGivenUp(error: unknown): boolean {
  return error instanceof FleetError && error.code === 'CLUSTER_DISENGAGED';
}
