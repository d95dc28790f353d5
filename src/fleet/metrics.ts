/** Metrics of a fleet in the caller's prom-client registry: controller-runtime's and client-go's names where they have them. */
import { Counter, Gauge, Histogram } from 'prom-client';
import { ConfigurationError } from '../errors/index.ts';
import { type MetricsRegistry, registersOf } from '../observability/metrics-registry.ts';
import type { ClusterState, FleetObserver } from './telemetry.ts';

/** What can be asked of a fleet at any time. */
export interface FleetSource {
  clusters(): readonly { readonly state: ClusterState; readonly reason: string }[];
  controllers(): readonly {
    readonly name: string;
    readonly depth: number;
    readonly adds: number;
    readonly active: number;
    readonly concurrency: number;
  }[];
}

/** What can be asked of a fleet that is shared. */
export interface SharesSource {
  /** How many shards are this replica's. */
  owned(): number;
  /** How many replicas live. */
  replicas(): number;
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
  #shares: SharesSource | undefined;

  /** Throws a `ConfigurationError` when the registry has metrics of these names already. */
  constructor(options: { readonly registry: MetricsRegistry; readonly clusterLabel?: boolean }) {
    const registers = registersOf('FleetMetrics', options);
    this.observer = this.#register(registers, options.clusterLabel ?? false);
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

  /** @internal The same for a fleet that is shared. */
  shares(source: SharesSource): void {
    this.#shares = source;
  }

  #register(registers: ReturnType<typeof registersOf>, clusterLabel: boolean): FleetObserver {
    const source = () => this.#source;
    new Gauge({
      name: 'clusterprofile_fleet_clusters',
      help: 'Clusters of the fleet by state.',
      labelNames: ['state'],
      registers,
      collect() {
        for (const state of states) this.set({ state }, 0);
        for (const { state } of source()?.clusters() ?? []) this.inc({ state });
      },
    });
    new Gauge({
      name: 'clusterprofile_fleet_clusters_watch_failing',
      help: 'Engaged clusters that a watch or a controller fails on.',
      registers,
      collect() {
        this.set((source()?.clusters() ?? []).filter(({ reason }) => reason === 'WATCH_FAILING').length);
      },
    });
    const gauge = (name: string, help: string, of: 'depth' | 'active' | 'concurrency', label: string) =>
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        collect() {
          for (const controller of source()?.controllers() ?? [])
            this.set({ [label]: controller.name }, controller[of]);
        },
      });
    gauge('workqueue_depth', 'Items that could be worked on now.', 'depth', 'name');
    gauge('controller_runtime_active_workers', 'Reconciles under way.', 'active', 'controller');
    gauge(
      'controller_runtime_max_concurrent_reconciles',
      'Reconciles that may be under way at once.',
      'concurrency',
      'controller',
    );
    new Counter({
      name: 'workqueue_adds_total',
      help: 'Items that were queued.',
      labelNames: ['name'],
      registers,
      collect() {
        this.reset();
        for (const { name, adds } of source()?.controllers() ?? []) this.inc({ name }, adds);
      },
    });
    const labels = clusterLabel ? (['controller', 'cluster'] as const) : (['controller'] as const);
    const waited = new Histogram({
      name: 'workqueue_queue_duration_seconds',
      help: 'How long items were queued.',
      labelNames: ['name'],
      buckets: queueBuckets,
      registers,
    });
    const worked = new Histogram({
      name: 'workqueue_work_duration_seconds',
      help: 'How long items were worked on.',
      labelNames: ['name'],
      buckets: queueBuckets,
      registers,
    });
    const retries = new Counter({
      name: 'workqueue_retries_total',
      help: 'Items that came back after a failure.',
      labelNames: ['name'],
      registers,
    });
    const total = new Counter({
      name: 'controller_runtime_reconcile_total',
      help: 'Reconciles by result.',
      labelNames: [...labels, 'result'],
      registers,
    });
    const errors = new Counter({
      name: 'controller_runtime_reconcile_errors_total',
      help: 'Reconciles that failed.',
      labelNames: [...labels],
      registers,
    });
    const timeouts = new Counter({
      name: 'controller_runtime_reconcile_timeouts_total',
      help: 'Reconciles that did not end in time.',
      labelNames: [...labels],
      registers,
    });
    const seconds = new Histogram({
      name: 'controller_runtime_reconcile_time_seconds',
      help: 'How long reconciles took.',
      labelNames: ['controller'],
      buckets: reconcileBuckets,
      registers,
    });
    const restarts = new Counter({
      name: 'clusterprofile_fleet_reflector_restarts_total',
      help: 'Watches that had to begin again, by reason.',
      labelNames: ['reason'],
      registers,
    });
    const shares = () => this.#shares;
    const shareGauge = (name: string, help: string, of: keyof SharesSource) =>
      new Gauge({
        name,
        help,
        registers,
        collect() {
          const source = shares();
          if (source) this.set(source[of]());
        },
      });
    shareGauge('clusterprofile_fleet_shards_owned', "Shards that are this replica's.", 'owned');
    shareGauge('clusterprofile_fleet_replicas', 'Replicas that live, as this one sees it.', 'replicas');
    const shardChanges = new Counter({
      name: 'clusterprofile_fleet_shard_changes_total',
      help: 'Shards that came to this replica or went from it: taken, taken_over, handed_over, lost.',
      labelNames: ['change'],
      registers,
    });
    const unowned = new Histogram({
      name: 'clusterprofile_fleet_shard_unowned_seconds',
      help: 'How long shards that this replica took had no owner, counted from the last sign of the one before.',
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 45, 60, 120],
      registers,
    });
    const leaseFailures = new Counter({
      name: 'clusterprofile_fleet_lease_failures_total',
      help: 'Requests for Leases that failed, by whose Lease: shard, replica.',
      labelNames: ['lease'],
      registers,
    });
    const leading = new Gauge({
      name: 'leader_election_master_status',
      help: 'Whether this process leads: 1 or 0, by the name of the Lease.',
      labelNames: ['name'],
      registers,
    });
    return {
      shard: ({ change, unownedMs }) => {
        shardChanges.inc({ change });
        if (unownedMs !== undefined) unowned.observe(unownedMs / 1_000);
      },
      'lease-failure': ({ lease }) => leaseFailures.inc({ lease }),
      leader: ({ name, leading: leads }) => leading.set({ name }, leads ? 1 : 0),
      restart: ({ reason }) => restarts.inc({ reason }),
      reconcile: ({ controller, cluster, result, durationMs, waitedMs }) => {
        const by = clusterLabel ? { controller, cluster } : { controller };
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
