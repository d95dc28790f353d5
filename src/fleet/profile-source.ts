/** Watches the ClusterProfiles on the hub, and the PlacementDecisions (KEP-5313) if the fleet is limited to some clusters. */
import type { Logger } from '../observability/logger.ts';
import { type KubernetesObject, keyOf } from '../rest/api/kubernetes-object.ts';
import type { Changes } from '../util/abortable.ts';
import { isText } from '../util/guards.ts';
import { guard } from './guard.ts';
import { type Hub, placementDecisionKind } from './hub.ts';
import type { Informer } from './informer/informer.ts';
import type { Clusters } from './membership/clusters.ts';
import { clusterProfileKind, type FleetProfile } from './membership/identity.ts';
import type { FleetSettings } from './options.ts';
import { inTurn } from './reflect/turns.ts';

type ProfileSourceOptions = Pick<FleetSettings, 'namespaces' | 'labelSelector' | 'placement' | 'logger'>;

export class ProfileSource {
  readonly #logger: Logger;
  readonly #profiles: readonly Informer<FleetProfile>[];
  readonly #placement: Informer<PlacementDecision> | undefined;
  readonly #changes: Changes;
  readonly #signal: AbortSignal;

  /** `changes` are told when a cache of the hub has synced or fails, and when the signal aborts. */
  constructor(hub: Hub, options: ProfileSourceOptions, changes: Changes, signal: AbortSignal) {
    const { namespaces, labelSelector, placement, logger } = options;
    this.#logger = logger;
    this.#changes = changes;
    this.#signal = signal;
    this.#profiles = (namespaces ?? [undefined]).map((namespace) =>
      hub.informer<FleetProfile>({ ...clusterProfileKind, namespace, labelSelector }),
    );
    if (!placement) return;
    this.#placement = hub.informer<PlacementDecision>({
      ...placementDecisionKind,
      namespace: placement.namespace,
      labelSelector: `multicluster.x-k8s.io/placement-key=${placement.key}`,
    });
  }

  /** Reports existing profiles and changes until the signal aborts. */
  async run(clusters: Clusters): Promise<void> {
    const logger = this.#logger;
    const signal = this.#signal;
    // Which of several profiles of one cluster comes first is known after all lists. A namespace that cannot be read delays no other.
    await this.#until(
      () =>
        this.#placement?.hasSynced !== false &&
        this.#profiles.every(({ hasSynced, problem }) => hasSynced || problem !== undefined),
    );
    if (signal.aborted) return;
    const subscribed = this.#profiles.map((informer) =>
      informer.subscribe(({ key, after }) => clusters.profileChanged(key, after)),
    );
    if (this.#placement) subscribed.push(followPlacement(this.#placement, clusters, logger));
    // The caches of the hub go on.
    for (const end of subscribed) signal.addEventListener('abort', end, { once: true });
    // Sorted by age, so that the first of several profiles of one cluster is reported first.
    const there = this.#profiles.flatMap((informer) =>
      informer.list().map((profile) => {
        const key = keyOf(profile);
        return { informer, key, rank: `${profile.metadata.creationTimestamp ?? ''} ${key}` };
      }),
    );
    for (const { informer, key } of there.toSorted((a, b) => (a.rank < b.rank ? -1 : 1))) {
      // It may have changed or been deleted meanwhile.
      await inTurn(this, 0, () =>
        guard(logger, { cluster: key }, `ClusterProfile ${key}`, () =>
          clusters.profileChanged(key, informer.getByKey(key)),
        ),
      );
    }
    await this.untilRead();
    if (signal.aborted) return;
    clusters.hubRead();
    await this.#until(() => false);
  }

  /** Resolves when the hub has been read, or the signal aborts. Namespaces that the hub forbids do not count. */
  untilRead(): Promise<void> {
    return this.#until(
      () =>
        this.#profiles.some(({ hasSynced }) => hasSynced) &&
        this.#profiles.every(({ hasSynced, problem }) => hasSynced || problem?.reason === 'forbidden'),
    );
  }

  /** The profiles that are there now. */
  list(): readonly FleetProfile[] {
    return this.#profiles.flatMap((informer) => informer.list());
  }

  /** Calls `changed` after each change of a profile. */
  subscribe(changed: () => void): void {
    for (const informer of this.#profiles) informer.subscribe(changed);
  }

  /** Resolves when the condition holds or the signal aborts. */
  #until(holds: () => boolean): Promise<void> {
    return this.#changes.until(() => this.#signal.aborted || holds());
  }
}

function followPlacement(informer: Informer<PlacementDecision>, clusters: Clusters, logger: Logger): () => void {
  let placed: Placed = new Map();
  const look = () => {
    placed = placedClusters(informer.list(), placed);
    clusters.placementChanged(new Set([...placed.values()].flat()));
  };
  guard(logger, {}, 'PlacementDecisions', look);
  return informer.subscribe(look);
}

/** `multicluster.x-k8s.io/v1alpha1`: one slice of a decision. */
export interface PlacementDecision extends KubernetesObject {
  readonly decisions?: readonly {
    readonly clusterProfileRef?: { readonly name?: string; readonly namespace?: string };
  }[];
}

/** The clusters (`namespace/name`) of each decision. */
type Placed = ReadonlyMap<string, readonly string[]>;

/**
 * A decision whose slices have several revisions, or gaps in their indexes, is being written: it stays as it was in `before`. So does
 * one that cannot be read.
 */
export function placedClusters(slices: readonly PlacementDecision[], before: Placed = new Map()): Placed {
  const decisions = Map.groupBy(slices, (slice) => labelOf(slice, 'decision-key') ?? `slice ${slice.metadata.name}`);
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
  const indexes = slices.map((slice) => labelOf(slice, 'decision-index')).filter((index) => index !== undefined);
  if (indexes.length > 0 && !slices.every((_, index) => indexes.includes(String(index)))) return false;
  return new Set(slices.map((slice) => labelOf(slice, 'decision-revision'))).size === 1;
}

function labelOf({ metadata: { labels } }: PlacementDecision, name: string): string | undefined {
  return labels?.[`multicluster.x-k8s.io/${name}`];
}

/** A missing or null list is empty, as in Go. `undefined` if it is not a list. */
function clustersOf({ metadata, decisions }: PlacementDecision): readonly string[] | undefined {
  const entries: unknown = decisions ?? [];
  if (!Array.isArray(entries)) return undefined;
  return entries.flatMap((entry: unknown) => {
    const { name, namespace } = Object(Object(entry).clusterProfileRef);
    return isText(name) ? [`${isText(namespace) ? namespace : metadata.namespace}/${name}`] : [];
  });
}
