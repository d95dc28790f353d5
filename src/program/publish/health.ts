/** The health of clusters, as a controller's own access finds it. */
import {
  type ClusterReport,
  type Condition,
  type ConfiguredProvider,
  failedStage,
  Prober,
} from '../../diagnose/index.ts';
import { sideBySide } from '../side-by-side.ts';
import type { Served } from './plan-providers.ts';

/** What was found out about a cluster. */
export interface Health {
  readonly status: Condition['status'];
  readonly reason: string;
  readonly message: string;
  readonly version?: string | undefined;
  readonly clusterId?: string | undefined;
}

/** The cluster does not take the credential. */
export const rejectedReason = 'AuthenticationFailed';
/** Milliseconds for one cluster. */
const timeoutMs = 30_000;
const atOnce = 20;
/** Failures in a row after which a healthy cluster is reported as something else. */
const failuresUntilReported = 3;

/** Checks the clusters with these providers, as a controller would. `needsId` says whose ID is not known yet. */
export async function checkHealth(
  clusters: readonly Served[],
  providers: readonly ConfiguredProvider[],
  needsId: (cluster: Served) => boolean,
  signal: AbortSignal,
): Promise<readonly Health[]> {
  const prober = new Prober({ providers, options: {} }, timeoutMs);
  const found: Health[] = [];
  try {
    const results = sideBySide(clusters, atOnce, signal, (cluster) => {
      const { namespace, name } = cluster.source;
      // Without conditions: those of before count for nothing.
      const profile = {
        metadata: { namespace, name, uid: '', resourceVersion: '' },
        status: { accessProviders: [cluster.entry] },
      };
      return prober.check(profile, { signal, identify: needsId(cluster) });
    });
    for await (const report of results) found.push(healthOf(report));
  } finally {
    await prober.close();
  }
  signal.throwIfAborted();
  return found;
}

/** `False` only if the API server itself says so: a network or a plugin of this process proves nothing about the cluster. */
function healthOf(report: ClusterReport): Health {
  const { version, clusterId } = report;
  const failed = failedStage(report);
  if (!failed) {
    const ready = report.stages.find(({ stage }) => stage === 'ready');
    return { status: 'True', reason: 'Ready', message: ready?.message ?? '', version, clusterId };
  }
  const { stage, code, message } = failed;
  const reason = code ?? `${stage.charAt(0).toUpperCase()}${stage.slice(1)}Failed`;
  return {
    status: report.isUnavailable ? 'False' : 'Unknown',
    reason,
    message: `${stage}: ${message}`,
    version,
    clusterId,
  };
}

/** Keeps a cluster that was healthy so until it has failed several times in a row. */
export class Hysteresis {
  readonly #failures = new Map<string, number>();

  /** What to report, of what was found; `undefined` to leave the report as it is. */
  next(name: string, reported: Condition['status'] | undefined, found: Health): Health | undefined {
    if (found.status === 'True') {
      this.#failures.delete(name);
      return found;
    }
    const failures = (this.#failures.get(name) ?? 0) + 1;
    this.#failures.set(name, failures);
    return reported === 'True' && failures < failuresUntilReported ? undefined : found;
  }
}
