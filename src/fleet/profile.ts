/** A ClusterProfile as the hub has it. */
import type { ClusterProfile } from '../access/cluster-profile.ts';
import type { KubernetesObject } from '../rest/api/kubernetes-object.ts';

/** A ClusterProfile (KEP-4322), with what a fleet reads of it. */
export interface FleetProfile extends KubernetesObject, Omit<ClusterProfile, 'apiVersion' | 'kind' | 'metadata'> {
  readonly spec?: {
    readonly displayName?: string;
    readonly clusterManager?: { readonly name?: string };
  };
  readonly status?: ClusterProfile['status'] & {
    readonly conditions?: readonly Condition[];
    readonly version?: { readonly kubernetes?: string };
    /** For example `cluster.clusterset.k8s.io`. */
    readonly properties?: readonly { readonly name: string; readonly value: string }[];
  };
}

/** A condition of a ClusterProfile's status, such as `ControlPlaneHealthy`. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

export const clusterProfileKind = { apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile' } as const;
