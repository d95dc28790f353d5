import type { Counter, Histogram } from 'prom-client';
import { MetricFactory, type MetricsRegistry } from '../observability/metrics-registry.ts';

/**
 * The kubelet's metrics of image credential providers, with its names and labels, in the caller's registry.
 *
 * @example
 * ImageCredentialProviders.fromConfigFile(path, { binDir, metrics: new ImageCredentialMetrics({ registry }) });
 */
export class ImageCredentialMetrics {
  readonly #errors: Counter<'plugin_name'>;
  readonly #duration: Histogram<'plugin_name'>;

  /** Throws a `ConfigurationError` when the registry has metrics of these names already. */
  constructor(options: { readonly registry: MetricsRegistry }) {
    const metrics = new MetricFactory('ImageCredentialMetrics', options);
    this.#errors = metrics.counter(
      'kubelet_credential_provider_plugin_errors_total',
      'Plugin executions that failed.',
      ['plugin_name'],
    );
    this.#duration = metrics.histogram(
      'kubelet_credential_provider_plugin_duration',
      'Seconds that plugin executions took.',
      [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      ['plugin_name'],
    );
  }

  /** @internal A plugin was executed. Whether its answer could be used does not count. */
  executed(plugin: string, seconds: number, succeeded: boolean): void {
    this.#duration.observe({ plugin_name: plugin }, seconds);
    if (!succeeded) this.#errors.inc({ plugin_name: plugin });
  }
}
