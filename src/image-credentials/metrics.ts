import { Counter, Gauge, Histogram } from 'prom-client';
import { type MetricsRegistry, registersOf } from '../observability/metrics-registry.ts';

/**
 * The kubelet's metrics of image credential providers, with its names and labels, in the caller's registry.
 *
 * @example
 * ImageCredentialProviders.fromConfigFile(path, { binDir, metrics: new ImageCredentialMetrics({ registry }) });
 */
export class ImageCredentialMetrics {
  readonly #errors: Counter<'plugin_name'>;
  readonly #duration: Histogram<'plugin_name'>;
  readonly #config: Gauge<'hash'>;

  /** Throws a `ConfigurationError` when the registry has metrics of these names already. */
  constructor(options: { readonly registry: MetricsRegistry }) {
    const registers = registersOf('ImageCredentialMetrics', options);
    const labelNames = ['plugin_name'] as const;
    this.#errors = new Counter({
      name: 'kubelet_credential_provider_plugin_errors_total',
      help: 'Plugin executions that failed.',
      labelNames,
      registers,
    });
    this.#duration = new Histogram({
      name: 'kubelet_credential_provider_plugin_duration',
      help: 'Seconds that plugin executions took.',
      labelNames,
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    });
    this.#config = new Gauge({
      name: 'kubelet_credential_provider_config_info',
      help: 'The hash of the configuration that was read last.',
      labelNames: ['hash'],
      registers,
    });
  }

  /** @internal A plugin was executed. Whether its answer could be used does not count. */
  executed(plugin: string, seconds: number, succeeded: boolean): void {
    this.#duration.observe({ plugin_name: plugin }, seconds);
    if (!succeeded) this.#errors.inc({ plugin_name: plugin });
  }

  /** @internal A configuration was read. */
  configured(hash: string): void {
    this.#config.reset();
    this.#config.set({ hash }, 1);
  }
}
