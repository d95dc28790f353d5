/** The input of a plugin run, and how messages and logs name it. */
import type { PluginPolicy } from '../access/plugin-policy.ts';
import type { ApiVersion } from '../access/provider.ts';
import type { ResolvedExec } from '../access/resolve.ts';
import { type ClusterOfError, openingOf } from '../errors/index.ts';
import type { Logger } from '../observability/logger.ts';
import type { Observer } from '../observability/telemetry.ts';
import type { WarningLimiter } from '../observability/warning-limiter.ts';
import type { ExecCluster } from './exec-credential.ts';

/** A plugin, as messages and logs name it. */
export interface Plugin {
  /** The access type, for fair queueing; `kubeconfig` for plugins of kubeconfigs. */
  readonly provider: string;
  /** Whose plugin this is, for messages: `access provider google`. */
  readonly origin: string;
  readonly exec: Pick<ResolvedExec, 'command' | 'installHint'>;
  /** Its purpose, for messages: `image registry.example.dev/app`. */
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
  /** The versions that it may answer in. Default: that of `exec`. */
  readonly acceptedVersions?: readonly ApiVersion[] | undefined;
  /** Only if `provideClusterInfo` is true. */
  readonly cluster: ExecCluster | undefined;
}

export interface PluginOptions {
  /** Milliseconds until a plugin that has not answered is killed. */
  readonly pluginTimeoutMs: number;
  readonly maxConcurrentPlugins: number;
  readonly logger: Logger;
  readonly warnings: WarningLimiter;
  /** Give the plugin nothing of the process's environment but `PATH` and `HOME`. */
  readonly cleanEnvironment: boolean;
  readonly pluginPolicy: PluginPolicy;
  /** Refuse a plugin that others can replace, instead of warning once. */
  readonly strictPluginFiles: boolean;
  readonly observer?: Observer | undefined;
  /** Aborted by `close()`: plugins that still run are killed. */
  readonly signal: AbortSignal;
}

/** Everything that distinguishes one plugin input from another. The process's environment is never part of it. */
export function sourceKey({ provider, exec, acceptedVersions, cluster }: PluginCall): string {
  const { apiVersion, command, args, env, appendIfNotExists = [], interactiveMode } = exec;
  const run = [command, args, env, appendIfNotExists, interactiveMode];
  return JSON.stringify([provider, apiVersion, acceptedVersions ?? null, ...run, cluster ?? null]);
}

/** What a log says of a plugin: its fields, and lines that open with the cluster that asked for a credential, and the plugin. */
export function inLogs({ provider, origin, exec: { command } }: Plugin, cluster?: ClusterOfError) {
  const { profile, server } = cluster ?? {};
  const named = { ...(profile === undefined ? {} : { profile }), ...(server === undefined ? {} : { server }) };
  return {
    fields: { ...named, provider, command },
    line: (message: string) => `${openingOf(cluster)}${origin}: plugin ${command}: ${message}`,
  };
}

/** The most that Linux takes in one string, in bytes with its final NUL (MAX_ARG_STRLEN). */
const kernelStringLimit = 131_072;

/** The process's variables that stay in a clean environment (KEP-541, version of 2019). */
const cleanNames: ReadonlySet<string> = new Set(['PATH', 'HOME']);

/**
 * The environment of a run: the process's variables, then the configured ones, which replace them. Those of `appendIfNotExists` do not:
 * `leftOut` names the ones that exist already.
 */
export function environmentOf(
  { env, appendIfNotExists = [] }: Pick<ResolvedExec, 'env' | 'appendIfNotExists'>,
  clean: boolean,
): { readonly environment: Record<string, string>; readonly leftOut: readonly string[] } {
  // Without a prototype, so that a variable named __proto__ is one like any other.
  const environment: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && (!clean || cleanNames.has(name))) environment[name] = value;
  }
  const existing = new Set(appendIfNotExists.filter((name) => name in environment));
  for (const { name, value } of env) if (!existing.has(name)) environment[name] = value;
  return { environment, leftOut: [...existing] };
}

/** Returns why the kernel would refuse to start the plugin, naming what is too large, or `undefined`. */
export function inputProblem(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  cluster: ExecCluster | undefined,
): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const limit = `the kernel's limit of ${kernelStringLimit} bytes`;
  for (const [index, argument] of args.entries()) {
    const size = Buffer.byteLength(argument) + 1;
    if (size > kernelStringLimit) return `argument ${index + 1} has ${size} bytes, over ${limit}: shorten it`;
  }
  for (const [name, value] of Object.entries(environment)) {
    const size = Buffer.byteLength(name) + Buffer.byteLength(value) + 2;
    if (size <= kernelStringLimit) continue;
    if (name !== 'KUBERNETES_EXEC_INFO') return `the variable ${name} has ${size} bytes, over ${limit}: shorten it`;
    const advice = 'if the plugin does not need it, set provideClusterInfo: false';
    return `KUBERNETES_EXEC_INFO has ${size} bytes, over ${limit}${largestPart(cluster)}: ${advice}`;
  }
  return undefined;
}

function largestPart(cluster: ExecCluster | undefined): string {
  const parts = Object.entries(cluster ?? {}).map(([field, value]) => ({ field, size: JSON.stringify(value).length }));
  const [largest] = parts.sort((a, b) => b.size - a.size);
  return largest ? ` (spec.cluster.${largest.field} alone has ${largest.size})` : '';
}
