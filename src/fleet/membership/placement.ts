/** Reads the clusters that PlacementDecisions (KEP-5313) name. Pure. */
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';

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
