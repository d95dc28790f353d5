import type { Registry } from 'prom-client';
import { checkArgument, isFunction, isObject } from './argument.ts';

/** A registry of the caller's, of prom-client 14 or 15. */
export interface MetricsRegistry {
  registerMetric(metric: never): void;
}

/** @internal For the `registers` of the metrics of a class. Throws a `ConfigurationError` where there is no registry. */
export function registersOf(where: string, options: { readonly registry: MetricsRegistry }): Registry[] {
  checkArgument(where, 'options', options, isObject, 'an object: { registry }');
  const { registry } = options;
  const isRegistry = (value: unknown) => isObject(value) && isFunction(Reflect.get(value, 'registerMetric'));
  checkArgument(where, 'registry', registry, isRegistry, 'a Registry of prom-client');
  // A metric calls nothing else of it.
  return [registry as Registry];
}
