/** What is looked at of options, wherever they come in. */
import type { KubeConfig } from '@kubernetes/client-node';
import { z } from 'zod';
import { isFunction } from '../errors/check-argument.ts';
import { kindShape, nameOf, sharedOptions } from '../options/option-schemas.ts';
import { isSubdomain } from '../util/kubernetes-names.ts';
import { type Clock, systemClock } from './clock.ts';
import { FleetMetrics } from './metrics.ts';

export const kubeConfigWords = 'a KubeConfig with a current cluster';

export const leaseName = nameOf(
  'the name of a Lease',
  isSubdomain,
  'lower case letters, digits, - and ., 253 characters at most',
);
export const functionOf = <T = never>(what: string) =>
  z.custom<T>(isFunction, { error: `must be a function ${what}`.trimEnd() });

export const clock = z
  .custom<Clock>((value) => ['now', 'uptime', 'after'].every((name) => isFunction(Object(value)[name])), {
    error: 'must be an object with functions now, uptime and after',
  })
  .default(systemClock);

/** What a fleet and a leader election have in common. */
export const fleetShape = {
  hub: z.custom<KubeConfig>(isKubeConfig, { error: `must be ${kubeConfigWords}` }),
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

export function isKubeConfig(value: unknown): boolean {
  const { getCurrentCluster, applySecurityAuthentication } = Object(value);
  if (!isFunction(getCurrentCluster) || !isFunction(applySecurityAuthentication)) return false;
  return typeof Object(Reflect.apply(getCurrentCluster, value, [])).server === 'string';
}
