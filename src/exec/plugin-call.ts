/** What a run of a plugin needs to be told, and how messages and logs name it. */
import type { ApiVersion } from '../access/api-versions.ts';
import type { ResolvedExec } from '../access/resolve.ts';
import { openingOf } from '../errors/cluster-of-error.ts';
import { type ClusterOfError, PluginError, type PluginErrorCode, type PluginFailure } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Observer } from '../telemetry.ts';
import type { Troubles } from '../troubles.ts';
import type { ExecCluster } from './exec-credential.ts';
import type { PluginPolicy } from './plugin-policy.ts';

/** Everything that can change a plugin's answer, and whose it is. */
export interface PluginCall {
  /** The access type, for fair queueing; `kubeconfig` for those that come from one. */
  readonly provider: string;
  /** Whose plugin this is, for messages: `access provider google`. */
  readonly origin: string;
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
  /** Plugins that may run at once in this process. */
  readonly maxConcurrentRuns: number;
  readonly logger: Logger;
  readonly troubles: Troubles;
  /** Give the plugin nothing of the process's environment but `PATH` and `HOME`. */
  readonly cleanEnvironment: boolean;
  /** Which plugins may be run at all. */
  readonly pluginPolicy: PluginPolicy;
  /** Refuse a plugin that others can replace, instead of warning once. */
  readonly strictPluginFiles: boolean;
  /** Is told of runs. */
  readonly observer?: Observer | undefined;
  /** Aborted when the whole library is closed: the plugins that still run are killed. */
  readonly signal: AbortSignal;
}

/** Everything that distinguishes one plugin input from another. The process's environment is never part of it. */
export function sourceKey({ provider, exec, acceptedVersions, cluster }: PluginCall): string {
  const { apiVersion, command, args, env, appendIfNotExists = [], interactiveMode } = exec;
  const run = [command, args, env, appendIfNotExists, interactiveMode];
  return JSON.stringify([provider, apiVersion, acceptedVersions, ...run, cluster ?? null]);
}

/** For the log. */
export function fieldsOf({ provider, exec }: PluginCall, cluster: ClusterOfError | undefined): object {
  const { profile, server } = cluster ?? {};
  return {
    ...(profile === undefined ? {} : { profile }),
    ...(server === undefined ? {} : { server }),
    provider,
    command: exec.command,
  };
}

/** Opens with the cluster and the plugin. */
export function lineOf({ origin, exec }: PluginCall, cluster: ClusterOfError | undefined, message: string): string {
  return `${openingOf(cluster)}${origin}: plugin ${exec.command}: ${message}`;
}

export function failure(
  call: PluginCall,
  code: PluginErrorCode,
  reason: string,
  more: Partial<PluginFailure> = {},
): PluginError {
  return new PluginError(code, reason, {
    provider: call.provider,
    origin: call.origin,
    command: call.exec.command,
    ...more,
  });
}
