/** Metrics of a fleet in the caller's prom-client registry: controller-runtime's and client-go's names where they have them. */
import { ConfigurationError } from '../errors/index.ts';
import { MetricFactory, type MetricsRegistry } from '../observability/metrics.ts';
import type { ClusterState, FleetObserver } from './telemetry.ts';

/** What can be asked of a fleet at any time. */
interface FleetSource {
  clusters(): readonly { readonly state: ClusterState; readonly reason: string }[];
  controllers(): readonly {
    readonly name: string;
    readonly depth: number;
    readonly adds: number;
    readonly active: number;
    readonly concurrency: number;
  }[];
  /** Without numbers if the fleet is not shared. */
  readonly ownership: { readonly owned?: number; readonly replicas?: number };
}

const states: readonly ClusterState[] = [
  'Pending',
  'Engaging',
  'Engaged',
  'Backoff',
  'NotReady',
  'NotOwned',
  'Duplicate',
];
/** Seconds, as client-go has them for its queues, and controller-runtime for reconciles. */
const queueBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1_000];
const unownedBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 45, 60, 120];
const reconcileBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/**
 * Metrics of one fleet. No label holds a cluster's name, since a large fleet would blow the registry up; `clusterLabel` puts it
 * on what is counted for each reconcile.
 *
 * @example
 * const fleet = new Fleet({ hub, providers, metrics: new FleetMetrics({ registry }) });
 */
export class FleetMetrics {
  /** @internal Its callbacks. */
  readonly observer: FleetObserver;
  #source: FleetSource | undefined;

  /** Throws prom-client's error if the registry has metrics of these names already. */
  constructor(options: { readonly registry: MetricsRegistry; readonly clusterLabel?: boolean | undefined }) {
    this.observer = this.#register(new MetricFactory('FleetMetrics', options), options.clusterLabel ?? false);
  }

  /** @internal Where numbers that change by themselves are looked up. */
  attach(source: FleetSource): void {
    if (this.#source) {
      throw new ConfigurationError('OPTION_INVALID', 'options', [
        { path: 'metrics', message: 'belongs to another Fleet: make a FleetMetrics for each' },
      ]);
    }
    this.#source = source;
  }

  #register(metrics: MetricFactory, clusterLabel: boolean): FleetObserver {
    const controllers = () => this.#source?.controllers() ?? [];
    metrics.gauge('clusterprofile_fleet_clusters', 'Clusters of the fleet by state.', ['state'], (gauge) => {
      for (const state of states) gauge.set({ state }, 0);
      for (const { state } of this.#source?.clusters() ?? []) gauge.inc({ state });
    });
    metrics.gauge(
      'clusterprofile_fleet_clusters_watch_failing',
      'Engaged clusters that a watch fails on.',
      [],
      (gauge) => gauge.set((this.#source?.clusters() ?? []).filter(({ reason }) => reason === 'WATCH_FAILING').length),
    );
    metrics.gauge('workqueue_depth', 'Items that could be worked on now.', ['name'], (gauge) => {
      for (const { name, depth } of controllers()) gauge.set({ name }, depth);
    });
    metrics.gauge('controller_runtime_active_workers', 'Reconciles under way.', ['controller'], (gauge) => {
      for (const { name, active } of controllers()) gauge.set({ controller: name }, active);
    });
    metrics.gauge(
      'controller_runtime_max_concurrent_reconciles',
      'Reconciles that may be under way at once.',
      ['controller'],
      (gauge) => {
        for (const { name, concurrency } of controllers()) gauge.set({ controller: name }, concurrency);
      },
    );
    metrics.counter('workqueue_adds_total', 'Items that were queued.', ['name'], (counter) => {
      counter.reset();
      for (const { name, adds } of controllers()) counter.inc({ name }, adds);
    });
    const labels = clusterLabel ? (['controller', 'cluster'] as const) : (['controller'] as const);
    const waited = metrics.histogram('workqueue_queue_duration_seconds', 'How long items were queued.', queueBuckets, [
      'name',
    ]);
    const worked = metrics.histogram(
      'workqueue_work_duration_seconds',
      'How long items were worked on.',
      queueBuckets,
      ['name'],
    );
    const retries = metrics.counter('workqueue_retries_total', 'Items that came back after a failure.', ['name']);
    const total = metrics.counter('controller_runtime_reconcile_total', 'Reconciles by result.', [...labels, 'result']);
    const errors = metrics.counter('controller_runtime_reconcile_errors_total', 'Reconciles that failed.', labels);
    const timeouts = metrics.counter(
      'controller_runtime_reconcile_timeouts_total',
      'Reconciles that did not end in time.',
      labels,
    );
    const seconds = metrics.histogram(
      'controller_runtime_reconcile_time_seconds',
      'How long reconciles took.',
      reconcileBuckets,
      ['controller'],
    );
    const restarts = metrics.counter(
      'clusterprofile_fleet_reflector_restarts_total',
      'Watches that had to begin again, by reason.',
      ['reason'],
    );
    metrics.gauge('clusterprofile_fleet_shards_owned', "Shards that are this replica's.", [], (gauge) => {
      const { owned } = this.#source?.ownership ?? {};
      if (owned !== undefined) gauge.set(owned);
    });
    metrics.gauge('clusterprofile_fleet_replicas', 'Replicas that live, as this one sees it.', [], (gauge) => {
      const { replicas } = this.#source?.ownership ?? {};
      if (replicas !== undefined) gauge.set(replicas);
    });
    const shardChanges = metrics.counter(
      'clusterprofile_fleet_shard_changes_total',
      'Shards that came to this replica or went from it: taken, taken_over, handed_over, lost.',
      ['change'],
    );
    const unowned = metrics.histogram(
      'clusterprofile_fleet_shard_unowned_seconds',
      'How long shards that this replica took had no owner, counted from the last sign of the one before.',
      unownedBuckets,
    );
    const leaseFailures = metrics.counter(
      'clusterprofile_fleet_lease_failures_total',
      'Requests for Leases that failed, by whose Lease: shard, replica.',
      ['lease'],
    );
    const leading = metrics.gauge(
      'leader_election_master_status',
      'Whether this process leads: 1 or 0, by the name of the Lease.',
      ['name'],
    );
    return {
      shard: ({ change, unownedMs }) => {
        shardChanges.inc({ change });
        if (unownedMs !== undefined) unowned.observe(unownedMs / 1_000);
      },
      'lease-failure': ({ lease }) => leaseFailures.inc({ lease }),
      leader: ({ name, leading: leads }) => leading.set({ name }, leads ? 1 : 0),
      restart: ({ reason }) => restarts.inc({ reason }),
      reconcile: ({ controller, cluster, result, durationMs, waitedMs }) => {
        const by = clusterLabel ? { controller, cluster: cluster ?? '' } : { controller };
        waited.observe({ name: controller }, waitedMs / 1_000);
        worked.observe({ name: controller }, durationMs / 1_000);
        seconds.observe({ controller }, durationMs / 1_000);
        total.inc({ ...by, result });
        if (result !== 'error' && result !== 'timeout') return;
        errors.inc(by);
        retries.inc({ name: controller });
        if (result === 'timeout') timeouts.inc(by);
      },
    };
  }
}
