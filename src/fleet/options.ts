/** What a fleet is told when it is made. */
import type { KubeConfig } from '@kubernetes/client-node';
import { z } from 'zod';
import { CredentialProviders } from '../credential-providers.ts';
import type { Logger } from '../logger.ts';
import { milliseconds, parseOptionsWith } from '../option-schemas.ts';
import type { Clock } from './clock.ts';
import type { FleetMetrics } from './metrics.ts';
import { fleetShape, functionOf, namespace, text } from './option-schemas.ts';
import type { FleetProfile } from './profile.ts';
import { type FleetShardingOptions, shardingSchema } from './sharding/options.ts';

/** Options of `new Fleet`; each is validated at construction. */
export interface FleetOptions {
  /** The API server that has the ClusterProfiles: any KubeConfig, a RestConfig of ours or client-node's. */
  readonly hub: KubeConfig;
  /** Which credentials the clusters are reached with. They are not closed with the fleet. */
  readonly providers: CredentialProviders;
  /** Namespaces of the hub to look for ClusterProfiles in. Default: all. */
  readonly namespaces?: readonly string[];
  /** Of ClusterProfiles. Default: all. */
  readonly labelSelector?: string;
  /** Only clusters that the PlacementDecisions (KEP-5313) of this key name. */
  readonly placement?: { readonly namespace: string; readonly key: string };
  /** Only profiles for which this is true. Default: all. */
  readonly select?: (profile: FleetProfile) => boolean;
  /** The cluster that a profile is of: where several have the same, the first by name is engaged. Default: its own name. */
  readonly identify?: (profile: FleetProfile) => string;
  /** `true` lets a cluster be engaged, `false` disengages it after `unhealthyGraceMs`, `undefined` neither. Default: by `ControlPlaneHealthy`. */
  readonly isReady?: (profile: FleetProfile) => boolean | undefined;
  /** Milliseconds that a cluster may be unhealthy before it is disengaged. Default: 300_000. */
  readonly unhealthyGraceMs?: number;
  /** Milliseconds that a cluster may take from its credential to the end of all `onEngage` functions. Default: 60_000. */
  readonly engageTimeoutMs?: number;
  /** Share the clusters with other replicas. Default: this process works on all of them. */
  readonly sharding?: FleetShardingOptions;
  /** Default: warnings go to stderr, each of them once; nothing else is said. */
  readonly logger?: Logger;
  /** `new FleetMetrics({ registry })`. */
  readonly metrics?: FleetMetrics;
  /** For tests. */
  readonly clock?: Clock;
}

const schema = z.strictObject({
  ...fleetShape,
  providers: z.instanceof(CredentialProviders, { error: 'must be a CredentialProviders' }),
  namespaces: z
    .array(namespace, { error: 'must be a list of namespaces' })
    .min(1, { error: 'is empty: name a namespace, or leave it out for all' })
    // Twice the same would be watched twice.
    .transform((names) => [...new Set(names)])
    .optional(),
  labelSelector: z.string({ error: 'must be a label selector' }).optional(),
  placement: z
    .strictObject({ namespace, key: text('a placement key') }, { error: 'must be an object with namespace and key' })
    .optional(),
  select: functionOf<(profile: FleetProfile) => boolean>('that returns true or false').default(() => () => true),
  identify: functionOf<(profile: FleetProfile) => string>('that returns text').default(
    () =>
      ({ metadata: { namespace, name } }: FleetProfile) =>
        `${namespace}/${name}`,
  ),
  isReady: functionOf<(profile: FleetProfile) => boolean | undefined>(
    'that returns true, false or undefined',
  ).optional(),
  unhealthyGraceMs: milliseconds(0).default(300_000),
  engageTimeoutMs: milliseconds(1).default(60_000),
  sharding: shardingSchema,
});

/** @internal */
export type FleetSettings = z.output<typeof schema>;

/** @internal Every option with its default. Throws a `ConfigurationError` that names each bad one. */
export function parseFleetOptions(options: FleetOptions): FleetSettings {
  return parseOptionsWith(schema, options);
}
