import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { checkArgument } from '../errors/check-argument.ts';
import { ConfigurationError } from '../errors/index.ts';
import { isFunction, isObject } from '../util/guards.ts';

/** The caller's registry, of prom-client 14 or 15. */
export interface MetricsRegistry {
  registerMetric(metric: never): void;
}

/** @internal Creates metrics in the caller's registry. A metric with `collect` is filled when it is read. */
export class MetricFactory {
  readonly #registers: Registry[];

  /**
   * @param where - the class whose metrics these are, for messages
   * @throws {ConfigurationError} if `options` has no registry; later, if the registry already has a metric of a name
   */
  constructor(where: string, options: { readonly registry: MetricsRegistry }) {
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
    this.#registers = [{ registerMetric } as Partial<Registry> as Registry];
  }

  counter<Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
    collect?: (counter: Counter<Label>) => void,
  ): Counter<Label> {
    const counter: Counter<Label> = new Counter({
      name,
      help,
      labelNames,
      registers: this.#registers,
      ...(collect ? { collect: () => collect(counter) } : {}),
    });
    return counter;
  }

  gauge<Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
    collect?: (gauge: Gauge<Label>) => void,
  ): Gauge<Label> {
    const gauge: Gauge<Label> = new Gauge({
      name,
      help,
      labelNames,
      registers: this.#registers,
      ...(collect ? { collect: () => collect(gauge) } : {}),
    });
    return gauge;
  }

  histogram<Label extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly Label[] = [],
  ): Histogram<Label> {
    return new Histogram({ name, help, labelNames, buckets, registers: this.#registers });
  }
}
