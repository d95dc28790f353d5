/** The resources that are read from a hub. */

export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

export const clusterProfiles: Resource = {
  group: 'multicluster.x-k8s.io',
  version: 'v1alpha1',
  plural: 'clusterprofiles',
};

export const leases: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };
export const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps' };
export const secrets: Resource = { group: '', version: 'v1', plural: 'secrets' };

/** Workloads by the names that kubectl takes. */
export const workloads: Readonly<Record<string, Resource>> = Object.fromEntries(
  [
    { names: ['deployment', 'deployments', 'deploy'], group: 'apps', plural: 'deployments' },
    { names: ['statefulset', 'statefulsets', 'sts'], group: 'apps', plural: 'statefulsets' },
    { names: ['daemonset', 'daemonsets', 'ds'], group: 'apps', plural: 'daemonsets' },
    { names: ['pod', 'pods', 'po'], group: '', plural: 'pods' },
  ].flatMap(({ names, group, plural }) => names.map((name) => [name, { group, version: 'v1', plural }])),
);
