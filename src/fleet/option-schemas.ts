/** What is looked at of options, wherever they come in. */
import { z } from 'zod';
import { kindShape, nameOf, namespace, sharedOptions } from '../options/option-schemas.ts';
import { RestConfig } from '../rest/rest-config.ts';
import { isFunction } from '../util/guards.ts';
import { isSubdomain } from '../util/hosts.ts';
import { type Clock, systemClock } from './clock.ts';
import { FleetMetrics } from './metrics.ts';

/** What is asked for when a server has to be given. */
export const restConfigWords = 'a RestConfig: RestConfig.fromDefault(), or RestConfig.fromKubeConfig({ path })';

export const isRestConfig = (value: unknown): boolean => value instanceof RestConfig;

export const leaseName = nameOf(
  'the name of a Lease',
  isSubdomain,
  'lower case letters, digits, - and ., 253 characters at most',
);
export const functionOf = <T = never>(what: string) =>
  z.custom<T>(isFunction, { error: `must be a function ${what}`.trimEnd() });

/** Only tests give one. */
export const clock = z.custom<Clock>().default(systemClock);

/** What a fleet and a leader election have in common. */
export const fleetShape = {
  hub: z.custom<RestConfig>(isRestConfig, { error: `must be ${restConfigWords}` }),
  logger: sharedOptions.logger,
  metrics: z.instanceof(FleetMetrics, { error: 'must be new FleetMetrics({ registry })' }).optional(),
  clock,
};

/** What is listed and watched. */
export const resourceShape = {
  ...kindShape,
  labelSelector: z.string({ error: 'must be a label selector' }).optional(),
  fieldSelector: z.string({ error: 'must be a field selector' }).optional(),
  metadataOnly: z.boolean({ error: 'must be true or false' }).optional(),
};

/** Which ClusterProfiles of a hub. */
export const profilesShape = {
  namespaces: z
    .array(namespace, { error: 'must be a list of namespaces' })
    .min(1, { error: 'is empty: name a namespace, or leave it out for all' })
    // Twice the same would be watched twice.
    .transform((names) => [...new Set(names)])
    .optional(),
  labelSelector: z.string({ error: 'must be a label selector' }).optional(),
};
