/** Watches the ClusterProfiles on the hub, and the PlacementDecisions (KEP-5313) if the fleet is limited to some clusters. */
import type { Logger } from '../observability/logger.ts';
import { ApiServer } from '../rest/api/api-server.ts';
import { type KubernetesObject, keyOf } from '../rest/api/kubernetes-object.ts';
import type { RestConfig } from '../rest/rest-config.ts';
import { Changes } from '../util/abortable.ts';
import type { Clock } from './clock.ts';
import { guard } from './guard.ts';
import { Informer } from './informer/informer.ts';
import type { InformerOptions } from './informer/options.ts';
import { clusterProfileKind, type FleetProfile } from './membership/identity.ts';
import { reflectorContext } from './reflect/reflector.ts';
import type { Restart } from './reflect/restart.ts';
import { inTurn } from './reflect/turns.ts';
import type { FleetObserver } from './telemetry.ts';

export interface ProfileSourceOptions {
  readonly hub: RestConfig;
  readonly namespaces: readonly string[] | undefined;
  readonly labelSelector: string | undefined;
  readonly placement?: { readonly namespace: string; readonly key: string } | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer?: FleetObserver | undefined;
  readonly signal: AbortSignal;
}

/** Called with existing profiles first, then with changes. */
export interface ProfileListener {
  profile(name: string, profile: FleetProfile | undefined): void;
  placed(clusters: ReadonlySet<string>): void;
  /** All existing profiles have been reported. */
  known(): void;
}

export class ProfileSource {
  readonly #options: ProfileSourceOptions;
  readonly #server: ApiServer;
  readonly #profiles: readonly Informer<FleetProfile>[];
  readonly #placement: Informer<PlacementDecision> | undefined;
  readonly #changes = new Changes();

  constructor(options: ProfileSourceOptions) {
    const { namespaces, labelSelector, placement, signal } = options;
    this.#options = options;
    signal.addEventListener('abort', this.#changes.tell, { once: true });
    this.#server = new ApiServer(options.hub);
    this.#profiles = (namespaces ?? [undefined]).map((namespace) =>
      this.#informer<FleetProfile>({ ...clusterProfileKind, namespace, labelSelector }, profileAdvice),
    );
    if (!placement) return;
    this.#placement = this.#informer<PlacementDecision>(
      {
        ...placementDecisionKind,
        namespace: placement.namespace,
        labelSelector: `${placementKeyLabel}=${placement.key}`,
      },
      decisionAdvice,
    );
  }

  /** Reports existing profiles and changes until the signal aborts. */
  async run(listener: ProfileListener): Promise<void> {
    const { signal, logger } = this.#options;
    // Which of several profiles of one cluster comes first is known after all lists. A namespace that cannot be read delays no other.
    await this.#until(
      () =>
        this.#placement?.hasSynced !== false &&
        this.#profiles.every(({ hasSynced, problem }) => hasSynced || problem !== undefined),
    );
    if (signal.aborted) return;
    if (this.#placement) followPlacement(this.#placement, listener, logger);
    for (const informer of this.#profiles) {
      informer.subscribe(({ key, after }) => listener.profile(key, after));
    }
    // Sorted by age, so that the first of several profiles of one cluster is reported first.
    const there = this.#profiles.flatMap((informer) =>
      informer.list().map((profile) => {
        const key = keyOf(profile);
        return { informer, key, rank: `${profile.metadata.creationTimestamp ?? ''} ${key}` };
      }),
    );
    for (const { informer, key } of there.toSorted((a, b) => (a.rank < b.rank ? -1 : 1))) {
      // It may have changed or been deleted meanwhile.
      await inTurn(this.#server, 0, () =>
        guard(logger, { cluster: key }, `ClusterProfile ${key}`, () => listener.profile(key, informer.getByKey(key))),
      );
    }
    // An unreachable hub has not been read. Namespaces that it forbids do not count.
    await this.#until(
      () =>
        this.#profiles.some(({ hasSynced }) => hasSynced) &&
        this.#profiles.every(({ hasSynced, problem }) => hasSynced || problem?.reason === 'forbidden'),
    );
    if (signal.aborted) return;
    listener.known();
    await this.#until(() => false);
  }

  /** Resolves when the condition holds or the signal aborts. */
  #until(holds: () => boolean): Promise<void> {
    return this.#changes.until(() => this.#options.signal.aborted || holds());
  }

  #informer<T extends KubernetesObject>(
    options: InformerOptions<T>,
    advice: (restart: Restart) => string,
  ): Informer<T> {
    const { clock, logger, observer, signal } = this.#options;
    const fields = { hub: this.#server.url };
    const reports = { observer, cluster: undefined };
    const context = reflectorContext(this.#server, { clock, logger, fields, reports, advice });
    return new Informer<T>(options, context, signal, { changed: this.#changes.tell });
  }
}

function followPlacement(informer: Informer<PlacementDecision>, listener: ProfileListener, logger: Logger): void {
  let placed: Placed = new Map();
  const look = () => {
    placed = placedClusters(informer.list(), placed);
    listener.placed(new Set([...placed.values()].flat()));
  };
  guard(logger, {}, 'PlacementDecisions', look);
  informer.subscribe(look);
}

function profileAdvice({ reason }: Restart): string {
  if (reason === 'not_found') {
    return 'apply crds/multicluster.x-k8s.io_clusterprofiles.yaml of clusterprofile-credentials to the hub; the watch goes on by itself';
  }
  return permissionAdvice(reason, 'clusterprofiles');
}

function decisionAdvice({ reason }: Restart): string {
  if (reason === 'not_found')
    return 'apply the CRD placementdecisions.multicluster.x-k8s.io (KEP-5313) to the hub, or leave placement out';
  return permissionAdvice(reason, 'placementdecisions');
}

function permissionAdvice(reason: Restart['reason'], plural: string): string {
  return reason === 'forbidden'
    ? `allow the verbs get, list and watch on ${plural}.multicluster.x-k8s.io on the hub`
    : '';
}

/** `multicluster.x-k8s.io/v1alpha1`: one slice of a decision. */
export interface PlacementDecision extends KubernetesObject {
  readonly decisions?: readonly {
    readonly clusterProfileRef?: { readonly name?: string; readonly namespace?: string };
  }[];
}

export const placementDecisionKind = {
  apiVersion: 'multicluster.x-k8s.io/v1alpha1',
  kind: 'PlacementDecision',
} as const;

export const placementKeyLabel = 'multicluster.x-k8s.io/placement-key';
const decisionKeyLabel = 'multicluster.x-k8s.io/decision-key';
const decisionIndexLabel = 'multicluster.x-k8s.io/decision-index';
const decisionRevisionLabel = 'multicluster.x-k8s.io/decision-revision';

/** The clusters (`namespace/name`) of each decision. */
export type Placed = ReadonlyMap<string, readonly string[]>;

/**
 * A decision whose slices have several revisions, or gaps in their indexes, is being written: it stays as it was in `before`. So does
 * one that cannot be read.
 */
export function placedClusters(slices: readonly PlacementDecision[], before: Placed = new Map()): Placed {
  const decisions = Map.groupBy(
    slices,
    ({ metadata: { labels, name } }) => labels?.[decisionKeyLabel] ?? `slice ${name}`,
  );
  const placed = new Map<string, readonly string[]>();
  for (const [key, parts] of decisions) {
    const named = parts.map(clustersOf);
    const isReadable = named.every((clusters) => clusters !== undefined);
    const clusters = isReadable && isComplete(parts) ? named.flat() : before.get(key);
    if (clusters) placed.set(key, clusters);
  }
  return placed;
}

function isComplete(slices: readonly PlacementDecision[]): boolean {
  const label = (name: string) => slices.map(({ metadata }) => metadata.labels?.[name]);
  const indexes = label(decisionIndexLabel).filter((index) => index !== undefined);
  if (indexes.length > 0 && !slices.every((_, index) => indexes.includes(String(index)))) return false;
  return new Set(label(decisionRevisionLabel)).size === 1;
}

/** A missing or null list is empty, as in Go. `undefined` if it is not a list. */
function clustersOf({ metadata, decisions }: PlacementDecision): readonly string[] | undefined {
  const entries: unknown = decisions ?? [];
  if (!Array.isArray(entries)) return undefined;
  return entries.flatMap((entry: unknown) => {
    const { name, namespace } = Object(Object(entry).clusterProfileRef);
    if (typeof name !== 'string' || name === '') return [];
    return [`${typeof namespace === 'string' && namespace !== '' ? namespace : metadata.namespace}/${name}`];
  });
}
