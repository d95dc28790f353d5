/** A ClusterProfile as the hub has it. */
import type { ClusterProfile } from '../access/cluster-profile.ts';
import type { KubernetesObject } from '../rest/api/kubernetes-object.ts';

/** A `ClusterProfile` that a hub has returned, with all of its metadata. */
export type FleetProfile = ClusterProfile & KubernetesObject;

export const clusterProfileKind = { apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile' } as const;
