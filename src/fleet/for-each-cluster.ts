/** The public function `forEachCluster`: something on all clusters, once, without a fleet. */
import { z } from 'zod';
import { checkArgument } from '../errors/check-argument.ts';
import { FleetError } from '../errors/index.ts';
import { milliseconds, parseOptionsWith, signal, wholeNumber } from '../options/option-schemas.ts';
import { CredentialProviders } from '../providers/credential-providers.ts';
import { keyOf } from '../rest/api/kubernetes-object.ts';
import type { RestConfig } from '../rest/rest-config.ts';
import { abortable } from '../util/abortable.ts';
import { isFunction } from '../util/guards.ts';
import type { Clock } from './clock.ts';
import type { FleetProfile } from './membership/identity.ts';
import { clock, fleetShape, profilesShape } from './option-schemas.ts';
import { type ListProfilesOptions, listProfiles } from './profiles.ts';

/** Options of `forEachCluster`: which clusters, as of `listProfiles`, and how many at once. */
export interface ForEachClusterOptions extends ListProfilesOptions {
  /** The API server that has the ClusterProfiles. */
  readonly hub: RestConfig;
  /** Where credentials come from. They are not closed. */
  readonly providers: CredentialProviders;
  /**
   * Clusters at once: 1 or more.
   *
   * @default 20
   */
  readonly concurrency?: number | undefined;
  /**
   * Milliseconds for one cluster, its plugin run included: 1 or more.
   *
   * @default 60_000
   */
  readonly timeoutMs?: number | undefined;
  /** Begins no further cluster, and aborts those that have begun. Their results have its reason as `error`. */
  readonly signal?: AbortSignal | undefined;
  /** @internal For tests. */
  readonly clock?: Clock | undefined;
}

/** One of the clusters of `forEachCluster`. */
export interface ClusterTask {
  /** `namespace/name` of the ClusterProfile. */
  readonly name: string;
  readonly profile: FleetProfile;
  /** Closed when the function has ended, or its time is over. */
  readonly config: RestConfig;
  /** Aborts after `timeoutMs`, and with the signal of the call. Pass it to your requests. */
  readonly signal: AbortSignal;
}

/** What one cluster gave: a value, or the error that the function threw. */
export type ClusterResult<T> =
  | { readonly name: string; readonly value: T; readonly error?: undefined }
  | { readonly name: string; readonly value?: undefined; readonly error: Error };

const schema = z.strictObject({
  hub: fleetShape.hub,
  providers: z.instanceof(CredentialProviders, { error: 'must be a CredentialProviders' }),
  ...profilesShape,
  concurrency: wholeNumber.default(20),
  timeoutMs: milliseconds(1).default(60_000),
  signal,
  clock,
});

/**
 * Calls a function with a config for each ClusterProfile of a hub, and returns a result for each, sorted by `namespace/name`. It rejects
 * only if the hub does not list them: a profile that is refused, a plugin that fails, a cluster that is down or slow is the `error` of its
 * own result.
 *
 * @throws {ConfigurationError} that names every bad option
 * @throws {FleetError} if the hub refuses or has no ClusterProfiles
 * @example
 * const results = await forEachCluster({ hub, providers }, async ({ config, signal }) => {
 *   return (await config.resource({ apiVersion: 'v1', kind: 'Node' }).list({ signal })).items.length;
 * });
 */
export async function forEachCluster<T>(
  options: ForEachClusterOptions,
  run: (cluster: ClusterTask) => Promise<T> | T,
): Promise<readonly ClusterResult<T>[]> {
  checkArgument('forEachCluster', 'run', run, isFunction, 'a function');
  const settings = parseOptionsWith(schema, options);
  const { hub, concurrency, namespaces, labelSelector, signal } = settings;
  const profiles = await listProfiles(hub, {
    ...(namespaces ? { namespaces } : {}),
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(signal ? { signal } : {}),
  });
  const results: ClusterResult<T>[] = [];
  const waiting = profiles.entries();
  const worker = async () => {
    for (const [index, profile] of waiting) results[index] = await resultOf(profile, run, settings);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, profiles.length) }, worker));
  return results;
}

async function resultOf<T>(
  profile: FleetProfile,
  run: (cluster: ClusterTask) => Promise<T> | T,
  { providers, timeoutMs, signal, clock }: z.output<typeof schema>,
): Promise<ClusterResult<T>> {
  const name = keyOf(profile);
  const late = new AbortController();
  const own = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
  const cancel = clock.after(timeoutMs, () => {
    const message = `ClusterProfile ${name}: not done after ${timeoutMs} ms (timeoutMs of forEachCluster)`;
    late.abort(new FleetError('TIMEOUT', message, { cluster: name }));
  });
  let config: RestConfig | undefined;
  try {
    own.throwIfAborted();
    const given = providers.getConfig(profile);
    config = given;
    return { name, value: await abortable(async () => run({ name, profile, config: given, signal: own }), own) };
  } catch (error) {
    return { name, error: error instanceof Error ? error : new Error(String(error), { cause: error }) };
  } finally {
    cancel();
    // What the function has left running ends, too.
    late.abort();
    await config?.dispatcher.destroy(own.reason);
  }
}
