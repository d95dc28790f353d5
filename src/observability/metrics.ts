/**
 * Metrics of plugin runs and credentials in the caller's prom-client registry. No label has a cluster's name: a fleet would have too many
 * series. It must not know how a plugin is run or a request is sent.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { checkArgument } from '../errors/index.ts';
import { isFunction, isObject } from '../util/guards.ts';
import type { Observer, RunEnd } from './telemetry.ts';

/** The cached credential of an access type. Times are milliseconds since 1970. */
export interface CachedCredential {
  readonly provider: string;
  readonly hasCredential: boolean;
  /** When it expires; `undefined` if it does not, or is not in use: an unused credential is not refreshed. */
  readonly expiresAt: number | undefined;
  /** When its certificate expires, in the same way. */
  readonly certificateEndsAt: number | undefined;
}

/** A cache of credentials. */
export interface CredentialCache {
  cached(): readonly CachedCredential[];
}

const runBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const requestBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
/** Seconds, as client-go has them: from ten minutes to four years. */
const rotationBuckets = [
  600, 1_800, 3_600, 14_400, 86_400, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000, 124_416_000,
];

/**
 * Collects metrics of one or more `CredentialProviders` and kubeconfigs, in your registry.
 *
 * @example
 * const providers = CredentialProviders.fromFlags(values, { metrics: new CredentialMetrics({ registry }) });
 */
export class CredentialMetrics {
  /** @internal The events that it counts. */
  readonly observer: Observer;
  /** Weak: a config that is never closed must not be kept for its metrics. */
  readonly #caches = new Set<WeakRef<CredentialCache>>();

  /**
   * @param options - `hosts` puts the servers' hosts into the label `host` of `rest_client_*`: useful for a few clusters, too many series
   * for a fleet
   * @throws {Error} prom-client's, if the registry already has metrics of these names
   */
  constructor(options: { readonly registry: MetricsRegistry; readonly hosts?: boolean }) {
    this.observer = this.#register(new MetricFactory('CredentialMetrics', options), options.hosts ?? false);
  }

  #register(metrics: MetricFactory, withHosts: boolean): Observer {
    const requests = metrics.counter(
      'clusterprofile_credential_requests_total',
      'Plugin runs by access type and outcome.',
      ['provider', 'state'],
    );
    const duration = metrics.histogram(
      'clusterprofile_credential_duration_seconds',
      'How long plugin runs took, by access type.',
      runBuckets,
      ['provider'],
    );
    const unauthorized = metrics.counter(
      'clusterprofile_unauthorized_responses_total',
      'Responses of API servers that refused the credential, by access type.',
      ['provider'],
    );
    const refused = metrics.counter(
      'clusterprofile_access_refused_total',
      'ClusterProfiles and requests refused by a rule or a limit, by access type and error code; profiles at each getConfig.',
      ['provider', 'code'],
    );
    const inProgress = metrics.gauge(
      'clusterprofile_plugin_runs_in_progress',
      'Plugins that run now, by access type.',
      ['provider'],
    );
    metrics.gauge(
      'clusterprofile_credential_expiry_timestamp_seconds',
      'When the first of the credentials in use for an access type expires, in seconds since 1970.',
      ['provider'],
      (gauge) => {
        gauge.reset();
        const earliest = new Map<string, number>();
        for (const { provider, expiresAt } of this.#cached()) {
          if (expiresAt === undefined) continue;
          earliest.set(provider, Math.min(expiresAt / 1000, earliest.get(provider) ?? Number.POSITIVE_INFINITY));
        }
        for (const [provider, seconds] of earliest) gauge.set({ provider }, seconds);
      },
    );
    metrics.gauge(
      'clusterprofile_credential_cache_entries',
      'Cached credentials, by access type.',
      ['provider'],
      (gauge) => {
        gauge.reset();
        for (const { provider, hasCredential } of this.#cached()) if (hasCredential) gauge.inc({ provider });
      },
    );
    const calls = metrics.counter(
      'rest_client_exec_plugin_call_total',
      'Plugin runs by exit code and call status, as client-go counts them.',
      ['code', 'call_status'],
    );
    metrics.gauge(
      'rest_client_exec_plugin_ttl_seconds',
      'Seconds until the first client certificate in use ends; negative when it has, +Inf where there is none.',
      [],
      (gauge) => {
        const ends = this.#cached().flatMap(({ certificateEndsAt: end }) => (end === undefined ? [] : [end]));
        gauge.set(ends.length === 0 ? Number.POSITIVE_INFINITY : (Math.min(...ends) - Date.now()) / 1000);
      },
    );
    const rotationAge = metrics.histogram(
      'rest_client_exec_plugin_certificate_rotation_age',
      'Age in seconds of client certificates when they were replaced.',
      rotationBuckets,
    );
    const restRequests = metrics.counter(
      'rest_client_requests_total',
      'Requests by status code (<error> where there was no answer), method and host.',
      ['code', 'method', 'host'],
    );
    const restDuration = metrics.histogram(
      'rest_client_request_duration_seconds',
      'How long requests took; a watch counts until its answer begins.',
      requestBuckets,
      ['verb', 'host'],
    );
    return {
      'plugin-run-start': ({ provider }) => inProgress.inc({ provider }),
      'plugin-run-end': (run) => {
        const { provider, state, durationMs } = run;
        inProgress.dec({ provider });
        requests.inc({ provider, state });
        if (state === 'not_allowed') return;
        duration.observe({ provider }, durationMs / 1000);
        calls.inc(clientGoCall(run));
      },
      credential: ({ replacedCertificateStartsAt }) => {
        if (replacedCertificateStartsAt === undefined) return;
        rotationAge.observe((Date.now() - replacedCertificateStartsAt) / 1000);
      },
      rejection: ({ provider }) => unauthorized.inc({ provider }),
      'request-end': (request) => {
        const host = withHosts ? new URL(request.origin).host : '';
        const ms = request.longRunning ? (request.answerMs ?? request.durationMs) : request.durationMs;
        restRequests.inc({ code: request.statusCode ?? '<error>', method: request.method, host });
        restDuration.observe({ verb: request.method, host }, ms / 1000);
      },
      'access-refused': ({ provider, code }) => refused.inc({ provider, code }),
    };
  }

  /** @internal Registers a cache for the gauges; returns the function that unregisters it. */
  attach(cache: CredentialCache): () => void {
    const reference = new WeakRef(cache);
    this.#caches.add(reference);
    return () => this.#caches.delete(reference);
  }

  #cached(): readonly CachedCredential[] {
    const all: CachedCredential[] = [];
    for (const reference of this.#caches) {
      const cache = reference.deref();
      if (cache) all.push(...cache.cached());
      else this.#caches.delete(reference);
    }
    return all;
  }
}

/** Like client-go, counts how the process ended, whether or not its answer was valid. */
function clientGoCall({ state, exitCode, signal }: RunEnd): { readonly code: string; readonly call_status: string } {
  if (state === 'not_found') return { code: '1', call_status: 'plugin_not_found_error' };
  if (signal !== undefined || state === 'timeout') return { code: '-1', call_status: 'plugin_execution_error' };
  if (exitCode === undefined) return { code: '1', call_status: 'client_internal_error' };
  return { code: String(exitCode), call_status: exitCode === 0 ? 'no_error' : 'plugin_execution_error' };
}

/** The caller's registry, of prom-client 14 or 15. */
export interface MetricsRegistry {
  registerMetric(metric: never): void;
}

/** @internal Creates metrics in the caller's registry. A metric with `collect` is filled when it is read. */
export class MetricFactory {
  readonly #registers: Registry[];

  /** `where` is the class whose metrics these are. @throws {ConfigurationError} if `options` has no registry */
  constructor(where: string, options: { readonly registry: MetricsRegistry }) {
    checkArgument(where, 'options', options, isObject, 'an object: { registry }');
    const { registry } = options;
    const isRegistry = (value: unknown) => isObject(value) && isFunction(Reflect.get(value, 'registerMetric'));
    checkArgument(where, 'registry', registry, isRegistry, 'a Registry of prom-client');
    this.#registers = [registry as Registry]; // of another version, perhaps: a metric calls registerMetric alone
  }

  counter<Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
    collect?: (counter: Counter<Label>) => void,
  ): Counter<Label> {
    const own = { name, help, labelNames, registers: this.#registers };
    const counter: Counter<Label> = new Counter({ ...own, ...(collect ? { collect: () => collect(counter) } : {}) });
    return counter;
  }

  gauge<Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
    collect?: (gauge: Gauge<Label>) => void,
  ): Gauge<Label> {
    const own = { name, help, labelNames, registers: this.#registers };
    const gauge: Gauge<Label> = new Gauge({ ...own, ...(collect ? { collect: () => collect(gauge) } : {}) });
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
