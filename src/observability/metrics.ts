/**
 * Metrics of plugin runs and credentials in the caller's prom-client registry. No label has a cluster's name: a fleet would have too
 * many series. It must not know how a plugin is run or a request is sent.
 */
import { Counter, Gauge, Histogram } from 'prom-client';
import type { PluginErrorCode } from '../errors/index.ts';
import { type MetricsRegistry, registersOf } from './metrics-registry.ts';
import type { Observer, RunEnd } from './telemetry.ts';

/** What is cached for an access type now. Times are milliseconds since 1970. */
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
  readonly #requests: Counter<'provider' | 'state'>;
  readonly #duration: Histogram<'provider'>;
  readonly #unauthorized: Counter<'provider'>;
  readonly #refused: Counter<'provider' | 'code'>;
  readonly #inProgress: Gauge<'provider'>;
  readonly #calls: Counter<'code' | 'call_status'>;
  readonly #policyCalls: Counter<'status'>;
  readonly #rotationAge: Histogram;
  readonly #restRequests: Counter<'code' | 'method' | 'host'>;
  readonly #restDuration: Histogram<'verb' | 'host'>;
  readonly #hosts: boolean;
  /** Weak: a config that is never closed must not be kept for its metrics. */
  readonly #caches = new Set<WeakRef<CredentialCache>>();

  /**
   * @param options - `hosts` puts the servers' hosts into the label `host` of `rest_client_*`: useful for a few clusters, too many series
   * for a fleet
   * @throws {ConfigurationError} if the registry already has metrics of these names
   */
  constructor(options: { readonly registry: MetricsRegistry; readonly hosts?: boolean }) {
    const registers = registersOf('CredentialMetrics', options);
    this.#hosts = options.hosts ?? false;
    this.observer = this.#observe();
    const labelNames = ['provider'] as const;
    this.#requests = new Counter({
      name: 'clusterprofile_credential_requests_total',
      help: 'Plugin runs by access type and outcome.',
      labelNames: ['provider', 'state'],
      registers,
    });
    this.#duration = new Histogram({
      name: 'clusterprofile_credential_duration_seconds',
      help: 'How long plugin runs took, by access type.',
      labelNames,
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    });
    this.#unauthorized = new Counter({
      name: 'clusterprofile_unauthorized_responses_total',
      help: 'Responses of API servers that refused the credential, by access type.',
      labelNames,
      registers,
    });
    this.#refused = new Counter({
      name: 'clusterprofile_access_refused_total',
      help: 'ClusterProfiles and requests refused by a rule or a limit, by access type and error code; profiles at each getConfig.',
      labelNames: ['provider', 'code'],
      registers,
    });
    this.#inProgress = new Gauge({
      name: 'clusterprofile_plugin_runs_in_progress',
      help: 'Plugins that run now, by access type.',
      labelNames,
      registers,
    });
    const cached = () => this.#cached();
    new Gauge({
      name: 'clusterprofile_credential_expiry_timestamp_seconds',
      help: 'When the first of the credentials in use for an access type expires, in seconds since 1970.',
      labelNames,
      registers,
      collect() {
        this.reset();
        const earliest = new Map<string, number>();
        for (const { provider, expiresAt } of cached()) {
          if (expiresAt === undefined) continue;
          earliest.set(provider, Math.min(expiresAt / 1000, earliest.get(provider) ?? Number.POSITIVE_INFINITY));
        }
        for (const [provider, seconds] of earliest) this.set({ provider }, seconds);
      },
    });
    new Gauge({
      name: 'clusterprofile_credential_cache_entries',
      help: 'Cached credentials, by access type.',
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const { provider, hasCredential } of cached()) if (hasCredential) this.inc({ provider });
      },
    });
    this.#policyCalls = new Counter({
      name: 'rest_client_exec_plugin_policy_call_total',
      help: 'Plugin runs by what the plugin policy said: allowed or denied.',
      labelNames: ['status'],
      registers,
    });
    this.#calls = new Counter({
      name: 'rest_client_exec_plugin_call_total',
      help: 'Plugin runs by exit code and call status, as client-go counts them.',
      labelNames: ['code', 'call_status'],
      registers,
    });
    new Gauge({
      name: 'rest_client_exec_plugin_ttl_seconds',
      help: 'Seconds until the first client certificate in use ends; negative when it has, +Inf where there is none.',
      registers,
      collect() {
        const ends = cached().flatMap(({ certificateEndsAt: end }) => (end === undefined ? [] : [end]));
        this.set(ends.length === 0 ? Number.POSITIVE_INFINITY : (Math.min(...ends) - Date.now()) / 1000);
      },
    });
    this.#rotationAge = new Histogram({
      name: 'rest_client_exec_plugin_certificate_rotation_age',
      help: 'Age in seconds of client certificates when they were replaced.',
      buckets: rotationBuckets,
      registers,
    });
    this.#restRequests = new Counter({
      name: 'rest_client_requests_total',
      help: 'Requests by status code (<error> where there was no answer), method and host.',
      labelNames: ['code', 'method', 'host'],
      registers,
    });
    this.#restDuration = new Histogram({
      name: 'rest_client_request_duration_seconds',
      help: 'How long requests took; a watch counts until its answer begins.',
      labelNames: ['verb', 'host'],
      buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
      registers,
    });
  }

  #observe(): Observer {
    return {
      'plugin-run-start': ({ provider }) => this.#inProgress.inc({ provider }),
      'plugin-run-end': (run) => {
        const { provider, state, durationMs } = run;
        this.#inProgress.dec({ provider });
        this.#requests.inc({ provider, state });
        if (run.code === undefined || !beforePolicy.has(run.code)) {
          this.#policyCalls.inc({ status: run.code === 'PLUGIN_NOT_ALLOWED' ? 'denied' : 'allowed' });
        }
        if (state === 'not_allowed') return;
        this.#duration.observe({ provider }, durationMs / 1000);
        this.#calls.inc(clientGoCall(run));
      },
      credential: ({ replacedCertificateStartsAt }) => {
        if (replacedCertificateStartsAt === undefined) return;
        this.#rotationAge.observe((Date.now() - replacedCertificateStartsAt) / 1000);
      },
      rejection: ({ provider }) => this.#unauthorized.inc({ provider }),
      'request-end': (request) => {
        const host = this.#hosts ? new URL(request.origin).host : '';
        const ms = request.longRunning ? (request.answerMs ?? request.durationMs) : request.durationMs;
        this.#restRequests.inc({ code: request.statusCode ?? '<error>', method: request.method, host });
        this.#restDuration.observe({ verb: request.method, host }, ms / 1000);
      },
      'access-refused': ({ provider, code }) => this.#refused.inc({ provider, code }),
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

/** Runs that end before the policy is checked. */
const beforePolicy: ReadonlySet<PluginErrorCode> = new Set(['PLUGIN_STOPPED', 'PLUGIN_INPUT_TOO_LARGE']);

/** Like client-go, counts how the process ended, whether or not its answer was valid. */
function clientGoCall({ state, exitCode, signal }: RunEnd): { readonly code: string; readonly call_status: string } {
  if (state === 'not_found') return { code: '1', call_status: 'plugin_not_found_error' };
  if (signal !== undefined || state === 'timeout') return { code: '-1', call_status: 'plugin_execution_error' };
  if (exitCode === undefined) return { code: '1', call_status: 'client_internal_error' };
  return { code: String(exitCode), call_status: exitCode === 0 ? 'no_error' : 'plugin_execution_error' };
}
