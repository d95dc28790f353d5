import type { Registry } from 'prom-client';

/** A registry of the caller's, of prom-client 14 or 15. */
export interface MetricsRegistry {
  registerMetric(metric: never): void;
}

/** @internal For the `registers` of a metric. */
export function registersOf(registry: MetricsRegistry): Registry[] {
  // A metric calls nothing else of it.
  return [registry as Registry];
}
