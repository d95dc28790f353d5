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

/** Workloads by the names that kubectl takes: `deployment`, `deployments`, `deploy`. */
export const workloads: Readonly<Record<string, Resource & { readonly kind: string }>> = Object.fromEntries(
  [
    { kind: 'Deployment', short: 'deploy', group: 'apps' },
    { kind: 'StatefulSet', short: 'sts', group: 'apps' },
    { kind: 'DaemonSet', short: 'ds', group: 'apps' },
    { kind: 'Pod', short: 'po', group: '' },
  ].flatMap(({ kind, short, group }) => {
    const singular = kind.toLowerCase();
    const plural = `${singular}s`;
    return [singular, plural, short].map((name) => [name, { kind, group, version: 'v1', plural }]);
  }),
);
