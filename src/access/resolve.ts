/**
 * Resolves a ClusterProfile with the operator's providers into a ResolvedAccess: everything needed to connect. Pure: it must not run
 * plugins, read files, or use the network.
 */
import { isObject } from '../errors/check-argument.ts';
import { ProfileError } from '../errors/index.ts';
import { printable } from '../util/printable.ts';
import type { ApiVersion } from './api-versions.ts';
import type { ResolvedCluster } from './cluster.ts';
import { type ClusterProfile, clusterFields, clusterSchema } from './cluster-profile.ts';
import { applyExtensions } from './extensions.ts';
import { fieldPath } from './field-path.ts';
import type { Json } from './json.ts';
import { checkSize, maxIgnored, maxIgnoredBytes } from './limits.ts';
import { checkProfile, matchProvider } from './match-provider.ts';
import { readCluster } from './profile-cluster.ts';
import type { ConfiguredProvider, EnvVar, InteractiveMode } from './provider.ts';
import type { Ignored, Refuse } from './refusal.ts';

/** The result of matching a ClusterProfile with the providers: a copy, in plain JSON. */
export interface ResolvedAccess {
  /** The access type that matched. */
  readonly provider: string;
  readonly cluster: ResolvedCluster;
  readonly exec: ResolvedExec;
  /** Settings of the profile that were not applied. */
  readonly ignored: readonly Ignored[];
}

/** The plugin as it will run: what the operator configured, and what the policies let the profile add. */
export interface ResolvedExec {
  readonly apiVersion: ApiVersion;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly EnvVar[];
  /**
   * Names of variables in `env` that a profile adds under `AppendIfNotExists`: a run omits those that the process's own environment
   * has. This is decided when the plugin runs, so `ignored` does not list them.
   */
  readonly appendIfNotExists?: readonly string[];
  readonly provideClusterInfo: boolean;
  /** The exec extension, verbatim. */
  readonly config?: Json;
  readonly installHint?: string;
  readonly interactiveMode: InteractiveMode;
}

/** The access of a config: a `ResolvedAccess`, or that of a kubeconfig, whose user may have no plugin. */
export interface ConfigAccess extends Omit<ResolvedAccess, 'exec'> {
  readonly exec?: ResolvedExec;
}

/** `namespace/name` of a profile, for messages. */
export function profileName(profile: ClusterProfile): string {
  const metadata: unknown = isObject(profile) ? profile.metadata : undefined;
  if (!isObject(metadata)) return '(without a name)';
  const { namespace, name } = metadata as { namespace?: unknown; name?: unknown }; // an object; the types are checked next
  const parts = [namespace, name].filter((part) => typeof part === 'string' && part !== '');
  return parts.length === 0 ? '(without a name)' : printable(parts.join('/'), 512);
}

/**
 * Matches a profile with the providers, in the providers' order.
 * @throws {ProfileError} and nothing else
 */
export function resolve(profile: ClusterProfile, providers: readonly ConfiguredProvider[]): ResolvedAccess {
  let chosen: string | undefined;
  const refuse: Refuse = (code, path, message) => {
    throw new ProfileError(code, profileName(profile), path, message, chosen);
  };
  const { provider, entry, path } = matchProvider(profile, providers, refuse);
  chosen = provider.name;
  checkProfile(profile, provider, refuse);
  if (entry.cluster === undefined || entry.cluster === null) {
    return refuse('CLUSTER_INVALID', `${path}.cluster`, 'is missing: without it there is no server to talk to');
  }
  const at = `${path}.cluster`;
  const parsed = clusterSchema.safeParse(entry.cluster);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue && issue.path.length > 0 ? `.${fieldPath(issue.path)}` : '';
    return refuse('CLUSTER_INVALID', `${at}${field}`, issue?.message ?? 'is not a cluster');
  }
  const cluster = parsed.data;
  const ignored: Ignored[] = [];
  for (const field of Object.keys(entry.cluster)) {
    if (!clusterFields.has(field)) ignored.push({ path: `${at}.${field}`, reason: 'is not a field of a cluster' });
  }
  if (cluster['certificate-authority']) {
    const reason = 'a ClusterProfile has no file system: use certificate-authority-data';
    ignored.push({ path: `${at}.certificate-authority`, reason });
  }
  checkSize(cluster, at, refuse);
  const resolvedCluster = readCluster(cluster, provider, at, refuse);
  const applied = applyExtensions(cluster.extensions, provider, `${at}.extensions`, ignored, refuse);
  const { args, env, appendIfNotExists, config } = applied;
  const { apiVersion, command, provideClusterInfo, installHint, interactiveMode } = provider.execConfig;
  return {
    provider: provider.name,
    cluster: resolvedCluster,
    exec: {
      apiVersion,
      command,
      args: [...args],
      env: env.map(({ name, value }) => ({ name, value })),
      ...(appendIfNotExists.length === 0 ? {} : { appendIfNotExists }),
      provideClusterInfo,
      ...(config === undefined ? {} : { config }),
      ...(installHint === undefined ? {} : { installHint }),
      interactiveMode,
    },
    ignored: listed(ignored),
  };
}

/** This is logged: one profile must not forge lines of a log, or fill it. */
function listed(ignored: readonly Ignored[]): readonly Ignored[] {
  const first = ignored.slice(0, maxIgnored).map(({ path, reason }) => ({
    path: printable(path, maxIgnoredBytes),
    reason: printable(reason, maxIgnoredBytes),
  }));
  if (ignored.length <= maxIgnored) return first;
  return [...first, { path: 'status', reason: `${ignored.length - maxIgnored} more things are not applied` }];
}
