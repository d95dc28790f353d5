/** The options of a fleet. */
import { z } from 'zod';
import type { Logger } from '../observability/logger.ts';
import { flag, milliseconds, namespace, parseOptionsWith, text } from '../options/option-schemas.ts';
import { CredentialProviders } from '../providers/credential-providers.ts';
import { Preview } from '../rest/request/previewed-writes.ts';
import { RestConfig } from '../rest/rest-config.ts';
import type { Clock } from './clock.ts';
import { clusterOf, type FleetProfile } from './membership/identity.ts';
import type { FleetMetrics } from './metrics.ts';
import { fleetShape, functionOf, profilesShape } from './option-schemas.ts';
import { type FleetShardingOptions, shardingSchema } from './sharding/options.ts';

/** Options of `new Fleet`; each is validated at construction. */
export interface FleetOptions {
  /** The API server that has the ClusterProfiles: `RestConfig.fromDefault()`. The fleet does not close it. */
  readonly hub: RestConfig;
  /** Get the credentials of the clusters. The fleet does not close them. */
  readonly providers: CredentialProviders;
  /** Namespaces of the hub in which ClusterProfiles are watched. Default: all. */
  readonly namespaces?: readonly string[] | undefined;
  /** Selects ClusterProfiles. Default: all. */
  readonly labelSelector?: string | undefined;
  /** Limits the fleet to the clusters that the PlacementDecisions (KEP-5313) with this key name. */
  readonly placement?: { readonly namespace: string; readonly key: string } | undefined;
  /** Selects profiles by anything that is in them. Default: all. */
  readonly select?: ((profile: FleetProfile) => boolean) | undefined;
  /**
   * Names the cluster of a profile. Of several profiles of one cluster the oldest that the providers know is engaged. `byName`: each
   * profile is a cluster of its own.
   *
   * @default the cluster's ID (KEP-2149), else its server, TLS server name, proxy and authority
   */
  readonly identify?: ((profile: FleetProfile) => string) | undefined;
  /**
   * `true` lets a cluster be engaged, `false` disengages it after `unhealthyGraceMs`, `undefined` changes nothing.
   *
   * @default by the condition `ControlPlaneHealthy`
   */
  readonly isReady?: ((profile: FleetProfile) => boolean | undefined) | undefined;
  /** Milliseconds that a cluster may be unhealthy before it is disengaged: 0 or more. Default: 300_000. */
  readonly unhealthyGraceMs?: number | undefined;
  /**
   * Milliseconds, 1 or more, from the credential to the end of the last `onEngage` function. The plugin has `pluginTimeoutMs` of its own.
   *
   * @default 60_000
   */
  readonly engageTimeoutMs?: number | undefined;
  /** Shares the clusters with other replicas. Default: this process works on all clusters. */
  readonly sharding?: FleetShardingOptions | undefined;
  /**
   * Changes nothing: reconciles run, and what they would write to the clusters and the hub is logged and collected in `fleet.preview`. See
   * `GetConfigOptions.preview`. Works on all clusters, whatever `sharding` says, and writes no Leases and no Events.
   *
   * @default false
   */
  readonly preview?: boolean | undefined;
  /** @default warnings go to stderr, each of them once */
  readonly logger?: Logger | undefined;
  /** `new FleetMetrics({ registry })`. */
  readonly metrics?: FleetMetrics | undefined;
  /** @internal For tests. */
  readonly clock?: Clock | undefined;
}

const schema = z.strictObject({
  ...fleetShape,
  providers: z.instanceof(CredentialProviders, { error: 'must be a CredentialProviders' }),
  ...profilesShape,
  placement: z
    .strictObject({ namespace, key: text('a placement key') }, { error: 'must be an object with namespace and key' })
    .optional(),
  select: functionOf<(profile: FleetProfile) => boolean>('that returns true or false').default(() => () => true),
  identify: functionOf<(profile: FleetProfile) => string>('that returns text').default(() => clusterOf),
  isReady: functionOf<(profile: FleetProfile) => boolean | undefined>(
    'that returns true, false or undefined',
  ).optional(),
  unhealthyGraceMs: milliseconds(0).default(300_000),
  engageTimeoutMs: milliseconds(1).default(60_000),
  sharding: shardingSchema,
  preview: flag,
});

/** @internal */
export type FleetSettings = Omit<z.output<typeof schema>, 'preview'> & { readonly preview: Preview | undefined };

/** @internal Every option with its default. @throws ConfigurationError that names each bad option */
export function parseFleetOptions(options: FleetOptions): FleetSettings {
  const settings = parseOptionsWith(schema, options);
  if (!settings.preview) return { ...settings, preview: undefined };
  const preview = new Preview(settings.logger);
  // Replicas share nothing if no Lease is written.
  return { ...settings, preview, hub: RestConfig.withPreview(settings.hub, preview), sharding: undefined };
}
