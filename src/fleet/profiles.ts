/** The public functions `listProfiles` and `watchProfiles`: the ClusterProfiles of a hub, without a fleet. */
import { z } from 'zod';
import { checkArgument } from '../errors/check-argument.ts';
import type { Logger } from '../observability/logger.ts';
import { parseOptionsWith, sharedOptions, signal } from '../options/option-schemas.ts';
import { keyOf } from '../rest/api/kubernetes-object.ts';
import type { RestConfig } from '../rest/rest-config.ts';
import type { Clock } from './clock.ts';
import { Wait } from './clock.ts';
import { clusterProfileKind, type FleetProfile } from './membership/identity.ts';
import { clock, isRestConfig, profilesShape, restConfigWords } from './option-schemas.ts';
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
  const query = { ...(labelSelector === undefined ? {} : { labelSelector }), ...(signal ? { signal } : {}) };
  const lists = (namespaces ?? [undefined]).map(async (namespace) => {
    const kind = { ...clusterProfileKind, ...(namespace === undefined ? {} : { namespace }) };
    return (await hub.resource<FleetProfile>(kind).list(query)).items;
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
  const change = new Wait(clock);
  stop.addEventListener('abort', change.wake, { once: true });
  const source = new ProfileSource({
    hub,
    namespaces,
    labelSelector,
    placement: undefined,
    clock,
    logger,
    observer: undefined,
    signal: stop,
  });
  const profiles = new Map<string, FleetProfile>();
  let isKnown = false;
  const running = source.run({
    profile: (name, profile) => {
      if (profile) profiles.set(name, profile);
      else profiles.delete(name);
      if (isKnown) change.wake();
    },
    placed: () => {},
    known: () => {
      isKnown = true;
      change.wake();
    },
  });
  try {
    while (!stop.aborted) {
      await change.for();
      if (!stop.aborted) yield byName([...profiles.values()]);
    }
  } finally {
    left.abort();
    await running;
  }
}

function byName(profiles: readonly FleetProfile[]): readonly FleetProfile[] {
  return profiles.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}
