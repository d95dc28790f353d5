/** The input of a plugin run, and how messages and logs name it. */
import type { ApiVersion } from '../access/api-versions.ts';
import type { PluginPolicy } from '../access/plugin-policy.ts';
import type { ResolvedExec } from '../access/resolve.ts';
import { openingOf } from '../errors/cluster-of-error.ts';
import { type ClusterOfError, PluginError, type PluginErrorCode, type PluginFailure } from '../errors/index.ts';
import type { Logger } from '../observability/logger.ts';
import type { Observer } from '../observability/telemetry.ts';
import type { WarningLimiter } from '../observability/warning-limiter.ts';
import { errnoOf } from '../util/errno.ts';
import type { ExecCluster } from './exec-credential.ts';
import { machineProblem } from './start-problem.ts';

/** A plugin, as messages and logs name it. */
export interface Plugin {
  /** The access type, for fair queueing; `kubeconfig` for plugins of kubeconfigs. */
  readonly provider: string;
  /** Whose plugin this is, for messages: `access provider google`. */
  readonly origin: string;
  readonly exec: Pick<ResolvedExec, 'command' | 'installHint'>;
  /** What it runs for, where messages name that: `image registry.example.dev/app`. */
  readonly purpose?: string;
}

/** A plugin with everything that can change its answer. */
export interface PluginCall extends Plugin {
  readonly exec: ResolvedExec;
  /**
   * The part of `exec` that the operator configured. Default: all of it. The rest comes from a profile, which holds no secrets, so
   * it is not hidden in what a plugin writes on stderr.
   */
  readonly configured?: Pick<ResolvedExec, 'args' | 'env'>;
  readonly acceptedVersions: readonly ApiVersion[];
  /** Only where `provideClusterInfo` is true. */
  readonly cluster: ExecCluster | undefined;
}

export interface PluginOptions {
  /** Milliseconds until a plugin that has not answered is killed. */
  readonly timeoutMs: number;
  /** Plugins that may run at once. */
  readonly maxConcurrentRuns: number;
  readonly logger: Logger;
  readonly warnings: WarningLimiter;
  /** Give the plugin nothing of the process's environment but `PATH` and `HOME`. */
  readonly cleanEnvironment: boolean;
  /** Which plugins may be run at all. */
  readonly pluginPolicy: PluginPolicy;
  /** Refuse a plugin that others can replace, instead of warning once. */
  readonly strictPluginFiles: boolean;
  /** Receives the events of runs. */
  readonly observer?: Observer | undefined;
  /** Aborted by `close()`: plugins that still run are killed. */
  readonly signal: AbortSignal;
}

/** Everything that distinguishes one plugin input from another. The process's environment is never part of it. */
export function sourceKey({ provider, exec, acceptedVersions, cluster }: PluginCall): string {
  const { apiVersion, command, args, env, appendIfNotExists = [], interactiveMode } = exec;
  const run = [command, args, env, appendIfNotExists, interactiveMode];
  return JSON.stringify([provider, apiVersion, acceptedVersions, ...run, cluster ?? null]);
}

/** For the log. */
export function fieldsOf({ provider, exec }: Plugin, cluster: ClusterOfError | undefined): object {
  const { profile, server } = cluster ?? {};
  return {
    ...(profile === undefined ? {} : { profile }),
    ...(server === undefined ? {} : { server }),
    provider,
    command: exec.command,
  };
}

/** Opens with the cluster and the plugin. */
export function lineOf({ origin, exec }: Plugin, cluster: ClusterOfError | undefined, message: string): string {
  return `${openingOf(cluster)}${origin}: plugin ${exec.command}: ${message}`;
}

export function failure(
  { provider, origin, exec, purpose }: Plugin,
  code: PluginErrorCode,
  reason: string,
  more: Partial<PluginFailure> = {},
): PluginError {
  const opening = purpose === undefined ? '' : `${purpose}: `;
  return new PluginError(code, `${opening}${reason}`, { provider, origin, command: exec.command, ...more });
}

/** Turns anything that a run throws into a `PluginError`. `signal` is aborted once the run's owner is closed. */
export function toPluginError(plugin: Plugin, error: unknown, signal: AbortSignal): PluginError {
  if (error instanceof PluginError) return error;
  if (signal.aborted) return failure(plugin, 'PLUGIN_STOPPED', stoppedReason);
  // Its message may quote the arguments, so only its code is shown.
  const { code, reason } = machineProblem(errnoOf(error));
  return failure(plugin, code, reason);
}

/** Of `PLUGIN_STOPPED`. */
export const stoppedReason = 'was stopped by close()';
