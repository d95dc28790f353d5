/** The ClusterProfiles that publish writes, and the health of their clusters. */
import { isDeepStrictEqual } from 'node:util';
import {
  type Api,
  ApiError,
  type ClusterReport,
  type Condition,
  type ConfiguredProvider,
  clusterProfileKind,
  type FleetProfile,
  failedStage,
  isObject,
  Prober,
  printable,
  profileName,
  statusOf,
  toRfc3339,
} from '../../diagnose/index.ts';
import { Failure } from '../failure.ts';
import { sideBySide } from '../table.ts';
import { managerLabel } from './secrets.ts';
import { clustersAtOnce, fullName, type ProfileName, type Served, type Settings } from './source.ts';

/** Another kind's profiles are not pruned. */
const sourceAnnotation = 'clusterprofile-credentials/source';
/** KEP-2149. */
const idProperty = 'cluster.clusterset.k8s.io';
const maxMessageBytes = 1_024;
/** Milliseconds after which a watch says again that it has seen the cluster. */
const heartbeatMs = 5 * 60_000;

/** Those on the hub, as one round has found them. */
export class Profiles {
  readonly #api: Api;
  readonly #settings: Settings;
  /** By their full names. */
  readonly #known: ReadonlyMap<string, FleetProfile>;

  constructor(api: Api, settings: Settings, found: readonly unknown[]) {
    this.#api = api;
    this.#settings = settings;
    const profiles = found.filter(isObject) as readonly FleetProfile[]; // an API server's own
    this.#known = new Map(profiles.map((profile) => [profileName(profile), profile]));
  }

  /** The cluster manager that the profile of this name belongs to, if it is another one. */
  otherManagerOf(place: ProfileName): string | undefined {
    const known = this.#known.get(fullName(place));
    const manager = known?.spec?.clusterManager?.name;
    return known && manager !== this.#settings.clusterManager ? (manager ?? '') : undefined;
  }

  /** Whether there is a profile of this name, which this manager has written. */
  isOurs(place: ProfileName): boolean {
    return this.#known.has(fullName(place)) && this.otherManagerOf(place) === undefined;
  }

  get #kindOfSource(): string {
    return this.#settings.kubeconfig === undefined ? 'cluster-api' : 'kubeconfig';
  }

  conditionOf(place: ProfileName): Condition | undefined {
    return this.#known.get(fullName(place))?.status?.conditions?.find(({ type }) => type === healthy);
  }

  #idOf(place: ProfileName): { readonly value: string; readonly lastObservedTime?: string } | undefined {
    return this.#known.get(fullName(place))?.status?.properties?.find(({ name }) => name === idProperty);
  }

  /** As a controller would reach them with these providers. */
  async checkHealth(clusters: readonly Served[], providers: readonly ConfiguredProvider[], signal: AbortSignal) {
    const prober = new Prober({ providers, options: {} }, timeoutMs);
    const found = new Map<Served, Health>();
    try {
      const results = sideBySide(clusters, clustersAtOnce, signal, async (cluster) => {
        const { namespace, name } = cluster.source;
        const metadata = { namespace, name, uid: '', resourceVersion: '' };
        // Without conditions: those of before count for nothing.
        const profile = { metadata, status: { accessProviders: [cluster.entry] } };
        const identify = this.#idOf(cluster.source) === undefined;
        return [cluster, healthOf(await prober.check(profile, { signal, identify }))] as const;
      });
      for await (const [cluster, health] of results) found.set(cluster, health);
    } finally {
      await prober.close();
    }
    signal.throwIfAborted();
    return found;
  }

  /** The profile of a cluster. Without `health`, what was reported before stays. */
  desired({ source, entry }: Served, health: Health | undefined) {
    const { namespace, name, displayName } = source;
    const { clusterManager, isWatch } = this.#settings;
    const now = toRfc3339(Date.now());
    const before = this.conditionOf(source);
    const condition = health ? toCondition(health, before, now) : before;
    const version = health?.version ?? this.#known.get(fullName(source))?.status?.version?.kubernetes;
    const known = this.#idOf(source);
    const id = health?.clusterId ?? known?.value;
    const seen = known?.lastObservedTime;
    const isStale = health?.status === 'True' && isWatch && Date.now() - Date.parse(seen ?? '') > heartbeatMs;
    const lastObservedTime = id === known?.value && seen !== undefined && !isStale ? seen : now;
    return {
      ...clusterProfileKind,
      metadata: {
        namespace,
        name,
        labels: { [managerLabel]: clusterManager },
        annotations: { [sourceAnnotation]: this.#kindOfSource },
      },
      spec: { displayName, clusterManager: { name: clusterManager } },
      status: {
        accessProviders: [entry],
        ...(condition ? { conditions: [condition] } : {}),
        ...(version === undefined ? {} : { version: { kubernetes: version } }),
        ...(id === undefined ? {} : { properties: [{ name: idProperty, value: id, lastObservedTime }] }),
      },
    };
  }

  /** Writes what differs. Rejects with a `Failure` if the hub would refuse the others too. */
  async write(profile: DesiredProfile, signal: AbortSignal): Promise<'created' | 'updated' | 'unchanged'> {
    const { namespace, name } = profile.metadata;
    const known = this.#known.get(fullName(profile.metadata));
    const { status, ...object } = profile;
    const [isSame, isStatusSame] = [isWithin(object, known), isWithin(status, known?.status)];
    if (isSame && isStatusSame) return 'unchanged';
    const client = this.#api({ ...clusterProfileKind, fieldManager: this.#settings.clusterManager });
    try {
      if (!isSame) await client.apply(object, { force: true, signal });
      if (!isStatusSame) await client.applyStatus({ metadata: { namespace, name }, status }, { force: true, signal });
    } catch (error) {
      throw explain(error, namespace);
    }
    return known ? 'updated' : 'created';
  }

  /** Those of this manager and this kind of source whose clusters are gone. */
  vanished(there: ReadonlySet<string>): readonly ProfileName[] {
    const { clusterManager } = this.#settings;
    return [...this.#known].flatMap(([key, { metadata, spec }]) => {
      const isOurs =
        spec?.clusterManager?.name === clusterManager &&
        metadata.annotations?.[sourceAnnotation] === this.#kindOfSource;
      return isOurs && !there.has(key) ? [{ namespace: metadata.namespace ?? '', name: metadata.name }] : [];
    });
  }

  async delete(place: ProfileName, signal: AbortSignal): Promise<void> {
    const { namespace, name } = place;
    const uid = this.#known.get(fullName(place))?.metadata.uid ?? '';
    try {
      await this.#api({ ...clusterProfileKind, namespace }).delete(name, { preconditions: { uid }, signal });
    } catch (error) {
      if (statusOf(error) !== 404) throw explain(error, namespace);
    }
  }
}

export type DesiredProfile = ReturnType<Profiles['desired']>;

const healthy = 'ControlPlaneHealthy';

/** Messages have times in them: while status and reason stay, so does the condition. */
function toCondition({ status, reason, message }: Health, before: Condition | undefined, now: string): Condition {
  if (before?.status === status && before.reason === reason) return before;
  const lastTransitionTime = before?.status === status ? (before.lastTransitionTime ?? now) : now;
  return { type: healthy, status, reason, message: printable(message, maxMessageBytes), lastTransitionTime };
}

/** Whether an object has all fields of another. Of named entries in lists others may be there too, but each of these is as it should be. */
function isWithin(wanted: unknown, known: unknown): boolean {
  if (Array.isArray(wanted)) {
    return wanted.every((one) => Array.isArray(known) && known.some((other) => isDeepStrictEqual(one, other)));
  }
  if (!isObject(wanted)) return wanted === known;
  return isObject(known) && Object.entries(wanted).every(([key, value]) => isWithin(value, Reflect.get(known, key)));
}

/** What is wrong with the hub as a whole is a `Failure`. */
function explain(error: unknown, namespace: string): unknown {
  if (!(error instanceof ApiError)) return error;
  const { statusCode, message } = error;
  if (statusCode === 403) {
    const rights = 'get, list, create, patch and delete on clusterprofiles, and patch on clusterprofiles/status';
    const hint = `bind a Role with ${rights} (multicluster.x-k8s.io) in namespace ${namespace}`;
    return Failure.hub(`the hub does not let you publish: ${message}`, hint);
  }
  if (statusCode === 404) {
    return Failure.hub(`the hub has no namespace ${namespace}: ${message}`, `kubectl create namespace ${namespace}`);
  }
  return error;
}

/** What was found out about a cluster. */
export interface Health {
  readonly status: Condition['status'];
  readonly reason: string;
  readonly message: string;
  readonly version?: string | undefined;
  readonly clusterId?: string | undefined;
}

/** The cluster does not take the credential. */
export const rejectedReason = 'AuthenticationFailed';
/** Milliseconds for one cluster. */
const timeoutMs = 30_000;
/** Failures in a row after which a healthy cluster is reported as something else. */
const failuresUntilReported = 3;

/** `False` only if the API server itself says so: a network or a plugin of this process proves nothing about the cluster. */
function healthOf(report: ClusterReport): Health {
  const { version, clusterId } = report;
  const failed = failedStage(report);
  if (!failed) {
    const ready = report.stages.find(({ stage }) => stage === 'ready');
    return { status: 'True', reason: 'Ready', message: ready?.message ?? '', version, clusterId };
  }
  const { stage, code, message } = failed;
  const reason = code ?? `${stage.charAt(0).toUpperCase()}${stage.slice(1)}Failed`;
  const status = report.isUnavailable ? 'False' : 'Unknown';
  return { status, reason, message: `${stage}: ${message}`, version, clusterId };
}

/** Keeps a cluster that was healthy so until it has failed several times in a row. */
export class Hysteresis {
  readonly #failures = new Map<string, number>();

  /** What to report, of what was found; `undefined` to leave the report as it is. */
  next(name: string, reported: Condition['status'] | undefined, found: Health): Health | undefined {
    if (found.status === 'True') {
      this.#failures.delete(name);
      return found;
    }
    const failures = (this.#failures.get(name) ?? 0) + 1;
    this.#failures.set(name, failures);
    return reported === 'True' && failures < failuresUntilReported ? undefined : found;
  }
}
