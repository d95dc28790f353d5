import type { Registry } from 'prom-client';
import { checkArgument, isFunction, isObject } from '../errors/check-argument.ts';
import { ConfigurationError } from '../errors/index.ts';

/** The caller's registry, of prom-client 14 or 15. */
export interface MetricsRegistry {
  registerMetric(metric: never): void;
}

/**
 * @internal Returns the `registers` for the metrics of the class `where`. If the registry already has a metric's name, the metric's
 * constructor throws a `ConfigurationError`.
 * @throws {ConfigurationError} if `options` has no registry
 */
export function registersOf(where: string, options: { readonly registry: MetricsRegistry }): Registry[] {
  checkArgument(where, 'options', options, isObject, 'an object: { registry }');
  const { registry } = options;
  const isRegistry = (value: unknown) => isObject(value) && isFunction(Reflect.get(value, 'registerMetric'));
  checkArgument(where, 'registry', registry, isRegistry, 'a Registry of prom-client');
  const registerMetric = (metric: never) => {
    try {
      registry.registerMetric(metric);
    } catch (error) {
      const message = error instanceof Error ? error.message.replace(/\.$/, '') : 'cannot be used';
      throw new ConfigurationError('OPTION_INVALID', where, [
        { path: 'registry', message: `${message}: make one ${where} for a registry, and share it` },
      ]);
    }
  };
  // A metric calls nothing else.
  return [{ registerMetric } as Partial<Registry> as Registry];
}
