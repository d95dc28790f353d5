/** ClusterProfiles without a fleet: one, a list of them, their changes, and a function on every cluster. */
import pMap from 'p-map';
import { z } from 'zod';
import { checkArgument, FleetError } from '../errors/index.ts';
import type { Logger } from '../observability/logger.ts';
import { milliseconds, parseOptionsWith, sharedOptions, signal, wholeNumber } from '../options/option-schemas.ts';
import { CredentialProviders } from '../providers/credential-providers.ts';
import { keyOf } from '../rest/api/kubernetes-object.ts';
import { Preview } from '../rest/request/previewed-writes.ts';
import type { RestConfig } from '../rest/rest-config.ts';
import { abortable, Changes } from '../util/abortable.ts';
import { isFunction } from '../util/guards.ts';
import { type Clock, Wait } from './clock.ts';
import { Hub } from './hub.ts';
import { clusterProfileKind, type FleetProfile } from './membership/identity.ts';
import { clock, fleetShape, isRestConfig, profilesShape, restConfigWords } from './option-schemas.ts';
import { ProfileSource } from './profile-source.ts';

/** Options of `listProfiles`. */
export interface ListProfilesOptions {
  /** @default all */
  readonly namespaces?: readonly string[] | undefined;
  /** @default all */
  readonly labelSelector?: string | undefined;
  /** Gives up. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `watchProfiles`, as of `listProfiles`. */
export interface WatchProfilesOptions extends ListProfilesOptions {
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined;
  /** @default warnings go to stderr, each of them once */
  readonly logger?: Logger | undefined;
  /** @internal For tests. */
  readonly clock?: Clock | undefined;
}

const listSchema = z.strictObject({ ...profilesShape, signal });
const watchSchema = z.strictObject({ ...profilesShape, signal, logger: sharedOptions.logger, clock });

/**
 * Lists the ClusterProfiles of a hub, sorted by `namespace/name`. They are as the hub has them: `providers.getConfig` looks at each, and
 * one that it refuses says nothing about the others.
 *
 * @throws ConfigurationError that names every bad option
 * @throws {ApiError} `API_STATUS` if the hub refuses, `KIND_NOT_SERVED` if it has no ClusterProfiles
 */
export async function listProfiles(
  hub: RestConfig,
  options: ListProfilesOptions = {},
): Promise<readonly FleetProfile[]> {
  checkArgument('listProfiles', 'hub', hub, isRestConfig, restConfigWords);
  const { namespaces, labelSelector, signal } = parseOptionsWith(listSchema, options);
  const lists = (namespaces ?? [undefined]).map(async (namespace) => {
    const profiles = hub.resource<FleetProfile>({ ...clusterProfileKind, namespace });
    return (await profiles.list({ labelSelector, signal })).items;
  });
  return byName((await Promise.all(lists)).flat());
}

/**
 * Returns one ClusterProfile of a hub.
 *
 * @param name `namespace/name`
 * @throws {ApiError} `API_STATUS` with `statusCode` 404 if there is none, or the hub's refusal
 * @example
 * const config = providers.getConfig(await getProfile(hub, 'fleet-system/spoke-1'));
 */
export async function getProfile(
  hub: RestConfig,
  name: string,
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<FleetProfile> {
  checkArgument('getProfile', 'hub', hub, isRestConfig, restConfigWords);
  checkArgument('getProfile', 'name', name, isProfileName, 'namespace/name of a ClusterProfile');
  const [namespace = '', ownName = ''] = name.split('/');
  return hub.resource<FleetProfile>({ ...clusterProfileKind, namespace }).get(ownName, options);
}

const isProfileName = (name: unknown) => typeof name === 'string' && /^[^/]+\/[^/]+$/.test(name);

/**
 * Yields all ClusterProfiles of a hub as a list, as `listProfiles` does: first when they have been read, and again after changes. A slow
 * loop gets several changes as one list. While the hub is unreachable nothing comes, and every failure is retried, with a warning. A
 * namespace that may not be read is left out until it may. Ends when `signal` aborts or you leave the loop.
 *
 * @throws ConfigurationError that names every bad option
 * @example
 * for await (const profiles of watchProfiles(hub, { namespaces: ['fleet-system'], signal })) show(profiles);
 */
export function watchProfiles(
  hub: RestConfig,
  options: WatchProfilesOptions = {},
): AsyncGenerator<readonly FleetProfile[], void> {
  checkArgument('watchProfiles', 'hub', hub, isRestConfig, restConfigWords);
  return watched(hub, parseOptionsWith(watchSchema, options));
}

async function* watched(
  hub: RestConfig,
  { signal, namespaces, labelSelector, clock, logger }: z.output<typeof watchSchema>,
): AsyncGenerator<readonly FleetProfile[], void> {
  const left = new AbortController();
  const stop = signal ? AbortSignal.any([signal, left.signal]) : left.signal;
  if (stop.aborted) return;
  const change = new Wait(clock);
  stop.addEventListener('abort', change.wake, { once: true });
  const changes = new Changes();
  stop.addEventListener('abort', changes.tell, { once: true });
  const parts = { config: hub, clock, logger, observer: undefined, signal: stop, changed: changes.tell };
  const source = new ProfileSource(new Hub(parts), { namespaces, labelSelector, logger }, changes, stop);
  try {
    await source.untilRead();
    source.subscribe(change.wake);
    while (!stop.aborted) {
      yield byName(source.list());
      await change.for();
    }
  } finally {
    left.abort();
  }
}

function byName(profiles: readonly FleetProfile[]): readonly FleetProfile[] {
  return profiles.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** Options of `forEachCluster`: which clusters, as of `listProfiles`, and how many at once. */
export interface ForEachClusterOptions extends ListProfilesOptions {
  /** The API server that has the ClusterProfiles. */
  readonly hub: RestConfig;
  /** Where credentials come from. They are not closed. */
  readonly providers: CredentialProviders;
  /** Clusters at once: 1 or more. Default: 20. */
  readonly concurrency?: number | undefined;
  /** Milliseconds for one cluster, its plugin run included: 1 or more. Default: 60_000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Changes nothing: what the function would write is logged and collected. See `GetConfigOptions.preview`.
   *
   * @default none: writes are done
   */
  readonly preview?: Preview | undefined;
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
  preview: z.instanceof(Preview, { error: 'must be new Preview()' }).optional(),
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
  const profiles = await listProfiles(hub, { namespaces, labelSelector, signal });
  return pMap(profiles, (profile) => resultOf(profile, run, settings), { concurrency });
}

async function resultOf<T>(
  profile: FleetProfile,
  run: (cluster: ClusterTask) => Promise<T> | T,
  { providers, timeoutMs, preview, signal, clock }: z.output<typeof schema>,
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
    const given = providers.getConfig(profile, { preview });
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
